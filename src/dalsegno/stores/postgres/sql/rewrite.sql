-- Statements that rewrite the database; only this store has them, since only here are they SQL of its own.

-- name: horizon
SELECT pg_snapshot_xmax(pg_current_snapshot())::text;

-- name: holders
-- Sessions in whose sight deleted rows still are: of this database by their snapshot, of any by their transaction, since
-- a snapshot taken now reaches back to it. The last row stands for those that this role may not see.
SELECT pid, application_name, datname FROM pg_stat_activity
WHERE pid <> pg_backend_pid()
  AND ((datname = current_database() AND age(backend_xmin) > age(%(horizon)s::xid8::xid)) OR age(backend_xid) > age(%(horizon)s::xid8::xid))
UNION ALL
SELECT 0, '', '' WHERE pg_snapshot_xmin(pg_current_snapshot()) < %(horizon)s::xid8;

-- name: vacuum
-- Every table and its indexes, without what was deleted; sampled anew for the planner.
VACUUM (FULL, ANALYZE) ds_threads, ds_namespaces, ds_branches, ds_items, ds_blobs, ds_blob_refs, ds_forms, ds_checkpoints, ds_writes,
  ds_events, ds_summaries, ds_cards, ds_histories, ds_manifests, ds_spending, ds_actions, ds_runs, ds_audit, ds_audit_heads, ds_audit_roots,
  ds_tags, ds_shares, ds_erasures, ds_memories, ds_evidence, ds_vectors, ds_embedders,
  ds_answers, ds_answer_sources, ds_answer_uses, ds_answer_parents, ds_calibrations, ds_tenants, ds_meta;
