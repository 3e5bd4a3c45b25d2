-- What LangGraph's own savers keep, read and never written. Their tables, as of langgraph-checkpoint-sqlite 3 and
-- langgraph-checkpoint-postgres 3; older ones differ only where a statement says so.

-- name: sqlite_columns
SELECT m.name, c.name
FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
WHERE m.type = 'table' AND m.name IN ('checkpoints', 'writes');

-- name: sqlite_threads
SELECT thread_id, count(*)
FROM checkpoints
GROUP BY thread_id
ORDER BY min(checkpoint_id), thread_id;

-- name: sqlite_checkpoints
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
FROM checkpoints
WHERE thread_id = :thread
ORDER BY checkpoint_id, checkpoint_ns;

-- name: sqlite_writes
SELECT task_id, task_path, idx, channel, type, value
FROM writes
WHERE thread_id = :thread AND checkpoint_ns = :ns AND checkpoint_id = :checkpoint;

-- name: sqlite_writes_before_paths
-- Databases that no newer saver has opened have no task_path.
SELECT task_id, '', idx, channel, type, value
FROM writes
WHERE thread_id = :thread AND checkpoint_ns = :ns AND checkpoint_id = :checkpoint;

-- name: postgres_columns
SELECT table_name::text, column_name::text
FROM information_schema.columns
WHERE table_schema = ANY (current_schemas(false))
    AND table_name IN ('checkpoints', 'checkpoint_writes', 'checkpoint_blobs');

-- name: postgres_threads
SELECT thread_id, count(*)
FROM checkpoints
GROUP BY thread_id
ORDER BY min(checkpoint_id COLLATE "C"), thread_id COLLATE "C";

-- name: postgres_checkpoints
SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata
FROM checkpoints
WHERE thread_id = %(thread)s
ORDER BY checkpoint_id COLLATE "C", checkpoint_ns COLLATE "C";

-- name: postgres_blobs
-- The values a checkpoint names by channel and version; those that stand in the checkpoint itself have no row.
SELECT b.channel, b.type, b.blob
FROM checkpoint_blobs AS b
JOIN jsonb_each_text(%(versions)s::jsonb) AS v ON v.key = b.channel AND v.value = b.version
WHERE b.thread_id = %(thread)s AND b.checkpoint_ns = %(ns)s;

-- name: postgres_writes
SELECT task_id, task_path, idx, channel, type, blob
FROM checkpoint_writes
WHERE thread_id = %(thread)s AND checkpoint_ns = %(ns)s AND checkpoint_id = %(checkpoint)s;

-- name: postgres_writes_before_paths
SELECT task_id, '', idx, channel, type, blob
FROM checkpoint_writes
WHERE thread_id = %(thread)s AND checkpoint_ns = %(ns)s AND checkpoint_id = %(checkpoint)s;
