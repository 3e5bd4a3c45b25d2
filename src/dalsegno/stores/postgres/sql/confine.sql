-- What each transaction begins with; only this store has it, since only here the database has walls of its own.

-- name: confine
SELECT set_config('dalsegno.tenant', %(tenant)s, true), set_config('dalsegno.tenant_name', %(name)s, true);
