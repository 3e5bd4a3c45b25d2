-- What a transaction begins with while the tenant's number is not known; only this store has it, since only here the
-- database has walls of its own.

-- name: confine
SELECT set_config('dalsegno.tenant_name', %(name)s, true);
