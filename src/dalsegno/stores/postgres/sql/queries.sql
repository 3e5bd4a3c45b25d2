-- Statements of the PostgreSQL store. Names, parameters and columns are the contract of dalsegno.contracts.
-- A thread may be long before its table is analyzed: joins go row by row (LATERAL, OFFSET 0). Where two indexes begin alike,
-- "BETWEEN x AND x ORDER BY … LIMIT 1" takes the one that is meant, which an equality would leave to chance.

-- name: tenant_add
INSERT INTO ds_tenants (name) VALUES (%(name)s) ON CONFLICT DO NOTHING;

-- name: tenant_find
SELECT tenant FROM ds_tenants WHERE name = %(name)s;

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- name: thread_add
INSERT INTO ds_threads (tenant, name, owner, created_at, updated_at)
VALUES (%(tenant)s, %(name)s, %(owner)s, %(now)s, %(now)s)
ON CONFLICT DO NOTHING;

-- name: thread_lock
SELECT thread, owner, deleted_at, events, wiped, pool, lanes, checkpoints, branches, namespaces, fence, lease_holder,
       lease_until, stands, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM ds_threads WHERE tenant = %(tenant)s AND name = %(name)s
FOR UPDATE;

-- name: thread_find
SELECT thread, owner, deleted_at, events, wiped, pool, lanes, checkpoints, branches, namespaces, fence, lease_holder,
       lease_until, stands, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM ds_threads WHERE tenant = %(tenant)s AND name = %(name)s;

-- name: thread_save
UPDATE ds_threads
SET events = %(events)s, wiped = %(wiped)s, pool = %(pool)s, lanes = %(lanes)s, checkpoints = %(checkpoints)s, branches = %(branches)s,
    namespaces = %(namespaces)s, stands = %(stands)s, updated_at = %(now)s
WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: thread_tombstone
UPDATE ds_threads
SET deleted_at = %(now)s, updated_at = %(now)s, lease_holder = NULL, lease_until = NULL, stands = 0
WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: thread_reopen
UPDATE ds_threads SET deleted_at = NULL, updated_at = %(now)s WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: thread_lease
UPDATE ds_threads SET fence = %(fence)s, lease_holder = %(holder)s, lease_until = %(until)s
WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: threads_page
SELECT t.name, t.owner, t.created_at, t.updated_at, t.deleted_at, t.events, t.lease_holder, t.lease_until,
       (SELECT count(*) FROM ds_checkpoints c
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL),
       (SELECT coalesce(jsonb_agg(g.tag ORDER BY g.tag), '[]'::jsonb) FROM ds_tags g
        WHERE g.tenant = t.tenant AND g.thread = t.thread)
FROM ds_threads t
WHERE t.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s) AND (%(deleted)s OR t.deleted_at IS NULL)
  AND (%(after)s::text IS NULL OR t.name > %(after)s)
  AND (%(tag)s::text IS NULL OR EXISTS (
    SELECT 1 FROM ds_tags g WHERE g.tenant = t.tenant AND g.thread = t.thread AND g.tag = %(tag)s))
ORDER BY t.name
LIMIT %(limit)s;

-- name: thread_names
SELECT t.name FROM ds_threads t
WHERE t.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s) AND t.deleted_at IS NULL
ORDER BY t.updated_at DESC, t.thread DESC;

-- name: thread_bytes
SELECT coalesce((SELECT sum(octet_length(body::text)) FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s), 0)
     + coalesce((SELECT sum(octet_length(state) + octet_length(frame)) FROM ds_checkpoints
                 WHERE tenant = %(tenant)s AND thread = %(thread)s), 0)
     + coalesce((SELECT sum(octet_length(body::text)) FROM ds_writes
                 WHERE tenant = %(tenant)s AND thread = %(thread)s), 0);

-- name: namespace_find
SELECT n.ns, n.head, c.id FROM ds_namespaces n
LEFT JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.ckpt = n.head
WHERE n.tenant = %(tenant)s AND n.thread = %(thread)s AND n.name = %(name)s;

-- name: namespace_add
INSERT INTO ds_namespaces (tenant, thread, ns, name, head) VALUES (%(tenant)s, %(thread)s, %(ns)s, %(name)s, NULL);

-- name: namespace_head
UPDATE ds_namespaces SET head = %(head)s WHERE tenant = %(tenant)s AND thread = %(thread)s AND ns = %(ns)s;

-- name: namespaces_rewind
UPDATE ds_namespaces
SET head = (SELECT max(c.ckpt) FROM ds_checkpoints c
            WHERE c.tenant = ds_namespaces.tenant AND c.thread = ds_namespaces.thread AND c.ns = ds_namespaces.ns
              AND c.state IS NOT NULL)
WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: namespaces_of
SELECT ns, name, head FROM ds_namespaces WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY ns;

-- name: branch_add
INSERT INTO ds_branches (tenant, thread, branch, parent, forked_at)
VALUES (%(tenant)s, %(thread)s, %(branch)s, %(parent)s, %(forked_at)s);

-- name: branches_of
SELECT branch, parent, forked_at FROM ds_branches WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY branch;

-- name: checkpoints_named
SELECT c.ckpt, c.id, c.parent, c.branch, c.state, c.meta, m.body, s.body, s.digest, c.version
FROM (SELECT %(id)s::bytea AS id UNION SELECT %(parent)s::bytea) w
CROSS JOIN LATERAL (
  SELECT * FROM ds_checkpoints x
  WHERE x.tenant = %(tenant)s AND x.thread = %(thread)s AND x.id BETWEEN w.id AND w.id AND x.ns = %(ns)s ORDER BY x.id LIMIT 1
) c
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.lane = 0 AND x.pos = c.meta OFFSET 0
) m ON true
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
UNION ALL
SELECT NULL, f.digest, f.form, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM (SELECT decode(part, 'hex') AS digest FROM jsonb_array_elements_text(%(digests)s::jsonb) p (part)) d
CROSS JOIN LATERAL (
  SELECT digest, form FROM ds_forms WHERE tenant = %(tenant)s AND digest = d.digest
  OFFSET 0
  FOR KEY SHARE
) f;

-- name: checkpoint_last
SELECT max(ckpt) FROM ds_checkpoints WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: form_add
INSERT INTO ds_forms (tenant, digest, body) VALUES (%(tenant)s, %(digest)s, %(body)s) RETURNING form;

-- name: forms_of
SELECT f.form, f.body, f.digest FROM ds_forms f
WHERE f.tenant = %(tenant)s
  AND f.form IN (SELECT c.shape FROM ds_checkpoints c WHERE c.tenant = %(tenant)s AND c.thread = %(thread)s
                 UNION SELECT c.graph FROM ds_checkpoints c WHERE c.tenant = %(tenant)s AND c.thread = %(thread)s);

-- name: checkpoint_branch
SELECT branch, ckpt FROM ds_checkpoints
WHERE tenant = %(tenant)s AND thread = %(thread)s AND id = %(id)s AND ns = %(ns)s;

-- name: checkpoint_anywhere
SELECT ckpt FROM ds_checkpoints
WHERE tenant = %(tenant)s AND thread = %(thread)s AND id = %(id)s AND state IS NOT NULL
ORDER BY ckpt DESC LIMIT 1;

-- name: checkpoint_add
INSERT INTO ds_checkpoints
  (tenant, thread, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
   state)
VALUES
  (%(tenant)s, %(thread)s, %(ckpt)s, %(ns)s, %(id)s, %(parent)s, %(branch)s, %(created_at)s, %(source)s, %(step)s, %(version)s, %(run)s, %(meta)s, %(shape)s,
   %(graph)s, %(frame)s, %(state)s)
ON CONFLICT (tenant, thread, ckpt) DO UPDATE SET
  parent = excluded.parent, branch = excluded.branch, created_at = excluded.created_at, source = excluded.source,
  step = excluded.step, version = excluded.version, run = excluded.run, meta = excluded.meta,
  shape = excluded.shape, graph = excluded.graph, frame = excluded.frame, state = excluded.state;

-- name: checkpoint_announce
INSERT INTO ds_checkpoints (tenant, thread, ckpt, ns, id, branch, created_at)
VALUES (%(tenant)s, %(thread)s, %(ckpt)s, %(ns)s, %(id)s, 0, %(created_at)s);

-- name: checkpoint_reseat
UPDATE ds_checkpoints SET ckpt = %(to)s WHERE tenant = %(tenant)s AND thread = %(thread)s AND ckpt = %(ckpt)s;

-- name: writes_reseat
UPDATE ds_writes SET ckpt = %(to)s WHERE tenant = %(tenant)s AND thread = %(thread)s AND ckpt = %(ckpt)s;

-- name: checkpoint_head
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
FROM ds_threads t
JOIN ds_namespaces n ON n.tenant = t.tenant AND n.thread = t.thread AND n.name = %(ns)s
INNER JOIN LATERAL (
  SELECT * FROM ds_checkpoints x
  WHERE x.tenant = n.tenant AND x.thread = n.thread AND x.ckpt BETWEEN n.head AND n.head ORDER BY x.ckpt LIMIT 1
) c ON true
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.ckpt BETWEEN c.parent AND c.parent ORDER BY x.ckpt LIMIT 1
) p ON true
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.lane = 0 AND x.pos = c.meta OFFSET 0
) m ON true
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = %(tenant)s AND t.name = %(name)s AND t.deleted_at IS NULL;

-- name: checkpoint_by_id
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
FROM ds_threads t
JOIN ds_namespaces n ON n.tenant = t.tenant AND n.thread = t.thread AND n.name = %(ns)s
JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.id = %(id)s AND c.ns = n.ns
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.ckpt BETWEEN c.parent AND c.parent ORDER BY x.ckpt LIMIT 1
) p ON true
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.lane = 0 AND x.pos = c.meta OFFSET 0
) m ON true
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = %(tenant)s AND t.name = %(name)s AND t.deleted_at IS NULL AND c.state IS NOT NULL;

-- name: checkpoints_page
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
FROM ds_threads t
CROSS JOIN LATERAL (
  SELECT x.* FROM ds_checkpoints x
  JOIN ds_namespaces y ON y.tenant = x.tenant AND y.thread = x.thread AND y.ns = x.ns
  WHERE x.tenant = t.tenant AND x.thread = t.thread AND x.state IS NOT NULL
    AND (%(ns)s::text IS NULL OR y.name = %(ns)s) AND (%(before)s::int IS NULL OR x.ckpt < %(before)s)
  ORDER BY x.ckpt DESC
  LIMIT %(limit)s
) c
JOIN ds_namespaces n ON n.tenant = c.tenant AND n.thread = c.thread AND n.ns = c.ns
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.ckpt BETWEEN c.parent AND c.parent ORDER BY x.ckpt LIMIT 1
) p ON true
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = c.tenant AND x.thread = c.thread AND x.lane = 0 AND x.pos = c.meta OFFSET 0
) m ON true
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = %(tenant)s AND t.name = %(name)s AND t.deleted_at IS NULL
ORDER BY c.ckpt DESC;

-- name: checkpoints_lineage
WITH RECURSIVE line (ckpt, depth) AS (
  SELECT %(ckpt)s::int, 0
  UNION ALL
  SELECT c.parent, line.depth + 1 FROM line
  CROSS JOIN LATERAL (
    SELECT x.parent FROM ds_checkpoints x
    WHERE x.tenant = %(tenant)s AND x.thread = %(thread)s AND x.ckpt BETWEEN line.ckpt AND line.ckpt ORDER BY x.ckpt LIMIT 1
  ) c
  WHERE c.parent IS NOT NULL AND line.depth < %(limit)s
)
SELECT c.ckpt, c.parent, c.state, f.body, f.digest FROM line
CROSS JOIN LATERAL (
  SELECT * FROM ds_checkpoints x
  WHERE x.tenant = %(tenant)s AND x.thread = %(thread)s AND x.ckpt BETWEEN line.ckpt AND line.ckpt ORDER BY x.ckpt LIMIT 1
) c
LEFT JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
WHERE c.state IS NOT NULL
ORDER BY line.depth;

-- name: checkpoints_all
SELECT c.ckpt, c.ns, c.id, c.parent, c.branch, c.meta, c.shape, c.graph, c.frame, c.state, c.step, c.source, c.run, f.body,
       f.digest
FROM ds_checkpoints c
LEFT JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
WHERE c.tenant = %(tenant)s AND c.thread = %(thread)s ORDER BY c.ckpt;

-- name: checkpoints_of_runs
SELECT t.name, c.ckpt FROM ds_checkpoints c
JOIN ds_threads t ON t.tenant = c.tenant AND t.thread = c.thread
WHERE c.tenant = %(tenant)s AND c.run IN (SELECT jsonb_array_elements_text(%(runs)s::jsonb))
ORDER BY t.name, c.ckpt;

-- name: checkpoints_drop
DELETE FROM ds_checkpoints
WHERE tenant = %(tenant)s AND thread = %(thread)s AND ckpt IN (SELECT jsonb_array_elements_text(%(ckpts)s::jsonb)::int);

-- name: checkpoints_orphan
UPDATE ds_checkpoints SET parent = NULL
WHERE tenant = %(tenant)s AND thread = %(thread)s AND parent IN (SELECT jsonb_array_elements_text(%(ckpts)s::jsonb)::int);

-- name: writes_drop
DELETE FROM ds_writes
WHERE tenant = %(tenant)s AND thread = %(thread)s AND ckpt IN (SELECT jsonb_array_elements_text(%(ckpts)s::jsonb)::int);

-- name: write_find
SELECT path, body FROM ds_writes WHERE tenant = %(tenant)s AND thread = %(thread)s AND ckpt = %(ckpt)s AND task = %(task)s;

-- name: write_save
INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)
VALUES (%(tenant)s, %(thread)s, %(ckpt)s, %(task)s, %(path)s, %(body)s)
ON CONFLICT (tenant, thread, ckpt, task) DO UPDATE SET path = excluded.path, body = excluded.body;

-- name: writes_of
SELECT w.ckpt, w.task, w.path, w.body
FROM (SELECT DISTINCT part::int AS ckpt FROM jsonb_array_elements_text(%(ckpts)s::jsonb) p (part)) c
CROSS JOIN LATERAL (
  SELECT * FROM ds_writes x WHERE x.tenant = %(tenant)s AND x.thread = %(thread)s AND x.ckpt = c.ckpt OFFSET 0
) w;

-- name: writes_all
SELECT ckpt, task, path, body FROM ds_writes WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY ckpt, task;

-- name: pool_find
SELECT i.digest, i.pos
FROM (SELECT decode(part, 'hex') AS digest FROM jsonb_array_elements_text(%(digests)s::jsonb) p (part)) d
CROSS JOIN LATERAL (
  SELECT digest, pos FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s AND digest = d.digest
  OFFSET 0
) i;

-- name: lane_tails
SELECT l.lane, (SELECT max(i.pos) FROM ds_items i
                WHERE i.tenant = %(tenant)s AND i.thread = %(thread)s AND i.lane = l.lane)
FROM (SELECT jsonb_array_elements_text(%(lanes)s::jsonb)::int AS lane) l;

-- name: item_add
INSERT INTO ds_items (tenant, thread, lane, pos, digest, body)
VALUES (%(tenant)s, %(thread)s, %(lane)s, %(pos)s, %(digest)s, %(body)s);

-- name: items_in
SELECT i.lane, i.pos, i.body, i.digest FROM jsonb_array_elements(%(ranges)s::jsonb) r (part)
CROSS JOIN LATERAL (
  SELECT lane, pos, body, digest FROM ds_items
  WHERE tenant = %(tenant)s AND thread = %(thread)s AND lane = (r.part ->> 0)::int
    AND pos BETWEEN (r.part ->> 1)::int AND (r.part ->> 2)::int
  OFFSET 0
) i;

-- name: items_all
SELECT lane, pos, digest, body FROM ds_items
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY lane, pos;

-- name: item_drop
DELETE FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s AND lane = %(lane)s AND pos BETWEEN %(first)s AND %(last)s;

-- name: item_blank
UPDATE ds_items SET body = 'null'::jsonb, digest = NULL
WHERE tenant = %(tenant)s AND thread = %(thread)s AND lane = %(lane)s AND pos = %(pos)s;

-- name: blob_add
-- Updating nothing locks the row until this write commits: who deletes a blob waits, and then sees our reference.
INSERT INTO ds_blobs (tenant, digest, body) VALUES (%(tenant)s, %(digest)s, %(body)s)
ON CONFLICT (tenant, digest) DO UPDATE SET digest = excluded.digest;

-- name: blob_ref_add
INSERT INTO ds_blob_refs (tenant, thread, digest) VALUES (%(tenant)s, %(thread)s, %(digest)s) ON CONFLICT DO NOTHING;

-- name: blobs_in
SELECT digest, body FROM ds_blobs
WHERE tenant = %(tenant)s
  AND digest IN (SELECT decode(part, 'hex') FROM jsonb_array_elements_text(%(digests)s::jsonb) d (part));

-- name: blob_lock
SELECT digest FROM ds_blobs WHERE tenant = %(tenant)s AND digest = %(digest)s FOR UPDATE;

-- name: blob_refs_of
SELECT r.digest, b.digest IS NOT NULL FROM ds_blob_refs r
LEFT JOIN ds_blobs b ON b.tenant = r.tenant AND b.digest = r.digest
WHERE r.tenant = %(tenant)s AND r.thread = %(thread)s;

-- name: blob_ref_drop
DELETE FROM ds_blob_refs WHERE tenant = %(tenant)s AND thread = %(thread)s AND digest = %(digest)s;

-- name: blob_drop
DELETE FROM ds_blobs WHERE tenant = %(tenant)s AND digest = %(digest)s
  AND NOT EXISTS (SELECT 1 FROM ds_blob_refs r WHERE r.tenant = %(tenant)s AND r.digest = %(digest)s);

-- name: event_add
INSERT INTO ds_events (tenant, thread, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms)
VALUES (%(tenant)s, %(thread)s, %(seq)s, %(kind)s, %(author)s, %(at)s, %(branch)s, %(ckpt)s, %(mark)s, %(lane)s, %(pos)s, %(terms)s);

-- name: events_marked
SELECT e.seq, e.kind, e.author, e.branch, e.ckpt, e.mark, e.lane, e.pos, i.body
FROM (SELECT jsonb_array_elements_text(%(marks)s::jsonb)::int AS mark) m
CROSS JOIN LATERAL (
  SELECT * FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s AND mark = m.mark
  OFFSET 0
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
ORDER BY e.seq;

-- name: events_page
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos FROM (
  SELECT * FROM ds_events v
  WHERE v.tenant = %(tenant)s AND v.thread = %(thread)s AND v.seq > %(after)s
    AND (SELECT bool_or(v.branch = (s.part ->> 0)::int AND coalesce(v.ckpt, 0) <= (s.part ->> 1)::bigint)
         FROM jsonb_array_elements(%(spans)s::jsonb) s (part))
  ORDER BY v.seq
  LIMIT %(limit)s
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.ckpt BETWEEN e.ckpt AND e.ckpt AND x.state IS NOT NULL
  ORDER BY x.ckpt LIMIT 1
) c ON true
ORDER BY e.seq;

-- name: events_matching
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos FROM (
  SELECT * FROM ds_events v
  WHERE v.tenant = %(tenant)s AND v.thread = %(thread)s
    AND (v.terms = '\x0000'::bytea
         OR (position(%(t0)s::bytea IN v.terms) > 0 AND position(%(t1)s::bytea IN v.terms) > 0 AND position(%(t2)s::bytea IN v.terms) > 0 AND position(%(t3)s::bytea IN v.terms) > 0
             AND position(%(t4)s::bytea IN v.terms) > 0 AND position(%(t5)s::bytea IN v.terms) > 0 AND position(%(t6)s::bytea IN v.terms) > 0 AND position(%(t7)s::bytea IN v.terms) > 0))
    AND (SELECT bool_or(v.branch = (s.part ->> 0)::int AND coalesce(v.ckpt, 0) <= (s.part ->> 1)::bigint)
         FROM jsonb_array_elements(%(spans)s::jsonb) s (part))
  ORDER BY v.seq DESC
  LIMIT %(limit)s
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.ckpt BETWEEN e.ckpt AND e.ckpt AND x.state IS NOT NULL
  ORDER BY x.ckpt LIMIT 1
) c ON true
ORDER BY e.seq DESC;

-- name: events_all
SELECT seq, kind, author, at, branch, ckpt, mark, lane, pos, terms FROM ds_events
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY seq;

-- name: summary_add
INSERT INTO ds_summaries (tenant, thread, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts)
SELECT %(tenant)s::integer, %(thread)s::bigint, coalesce(max(summary), 0) + 1,
  %(branch)s::integer, %(ckpt)s::integer, %(from_seq)s::integer, %(to_seq)s::integer, %(at)s::bigint, %(writer)s::text, %(policy)s::text, %(lines)s::text, %(facts)s::text
FROM ds_summaries WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: summaries_all
SELECT summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts FROM ds_summaries
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY summary;

-- name: commit_durably
SELECT set_config('synchronous_commit', 'on', true);

-- name: action_find
SELECT key, name, kind, scope, anchor, recipient, arguments, state, version, attempts, fence, holder, lease_until, approval,
       result, error, created_at, updated_at, started_at, ended_at
FROM ds_actions WHERE tenant = %(tenant)s AND thread = %(thread)s AND key = %(key)s;

-- name: action_add
INSERT INTO ds_actions
  (tenant, thread, key, name, kind, scope, anchor, recipient, arguments, state, version, attempts, fence, created_at,
   updated_at)
VALUES
  (%(tenant)s, %(thread)s, %(key)s, %(name)s, %(kind)s, %(scope)s, %(anchor)s, %(recipient)s, %(arguments)s, %(state)s, %(version)s, 0, 0, %(created_at)s,
   %(created_at)s);

-- name: action_save
UPDATE ds_actions
SET state = %(state)s, version = %(version)s, attempts = %(attempts)s, fence = %(fence)s, holder = %(holder)s,
    lease_until = %(lease_until)s, approval = %(approval)s, result = %(result)s, error = %(error)s, updated_at = %(updated_at)s,
    started_at = %(started_at)s, ended_at = %(ended_at)s
WHERE tenant = %(tenant)s AND thread = %(thread)s AND key = %(key)s;

-- name: actions_named
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_actions a
JOIN ds_threads t ON t.tenant = a.tenant AND t.thread = a.thread
WHERE a.tenant = %(tenant)s AND a.key >= %(low)s AND a.key <= %(high)s
  AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
ORDER BY a.key LIMIT 2;

-- name: actions_page
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_actions a
JOIN ds_threads t ON t.tenant = a.tenant AND t.thread = a.thread
WHERE a.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s) AND (%(state)s::text IS NULL OR a.state = %(state)s)
ORDER BY a.created_at, a.key
LIMIT %(limit)s;

-- name: audit_add
INSERT INTO ds_audit (tenant, thread, seq, at, digest, hash, body)
VALUES (%(tenant)s, %(thread)s, %(seq)s, %(at)s, %(digest)s, %(hash)s, %(body)s);

-- name: audit_head
SELECT seq, hash FROM ds_audit_heads WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: audit_head_add
INSERT INTO ds_audit_heads (tenant, thread, seq, hash, place, link, seal)
VALUES (%(tenant)s, %(thread)s, %(seq)s, %(hash)s, %(place)s, %(link)s, %(seal)s);

-- name: audit_head_save
UPDATE ds_audit_heads SET seq = %(seq)s, hash = %(hash)s, seal = %(seal)s WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: audit_heads
SELECT thread, seq, hash, place, link, seal FROM ds_audit_heads WHERE tenant = %(tenant)s ORDER BY place, thread;

-- name: audit_page
SELECT thread, seq, at, body, digest, hash FROM ds_audit
WHERE tenant = %(tenant)s AND (thread, seq) > (%(thread)s, %(seq)s)
ORDER BY thread, seq
LIMIT %(limit)s;

-- name: wipe_items
DELETE FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_checkpoints
DELETE FROM ds_checkpoints WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_writes
DELETE FROM ds_writes WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_events
DELETE FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_summaries
DELETE FROM ds_summaries WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_actions
DELETE FROM ds_actions WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_branches
DELETE FROM ds_branches WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_namespaces
DELETE FROM ds_namespaces WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_blob_refs
DELETE FROM ds_blob_refs WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_namespaces
INSERT INTO ds_namespaces (tenant, thread, ns, name, head)
SELECT tenant, %(to)s, ns, name, head FROM ds_namespaces WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_branches
INSERT INTO ds_branches (tenant, thread, branch, parent, forked_at)
SELECT tenant, %(to)s, branch, parent, forked_at FROM ds_branches WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_items
INSERT INTO ds_items (tenant, thread, lane, pos, digest, body)
SELECT tenant, %(to)s, lane, pos, digest, body FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_checkpoints
INSERT INTO ds_checkpoints
  (tenant, thread, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
   state)
SELECT tenant, %(to)s, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
       state
FROM ds_checkpoints WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_writes
INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)
SELECT tenant, %(to)s, ckpt, task, path, body FROM ds_writes WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_events
INSERT INTO ds_events (tenant, thread, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms)
SELECT tenant, %(to)s, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms
FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_summaries
INSERT INTO ds_summaries (tenant, thread, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts)
SELECT tenant, %(to)s, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts
FROM ds_summaries WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_blob_refs
INSERT INTO ds_blob_refs (tenant, thread, digest)
SELECT tenant, %(to)s, digest FROM ds_blob_refs WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: head_branch
SELECT c.branch, c.ckpt FROM ds_namespaces n
JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.ckpt = n.head
WHERE n.tenant = %(tenant)s AND n.thread = %(thread)s AND n.ns = 0;

-- name: thread_one
SELECT t.name, t.owner, t.created_at, t.updated_at, t.deleted_at, t.events, t.lease_holder, t.lease_until,
       (SELECT count(*) FROM ds_checkpoints c
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL),
       (SELECT coalesce(jsonb_agg(g.tag ORDER BY g.tag), '[]'::jsonb) FROM ds_tags g
        WHERE g.tenant = t.tenant AND g.thread = t.thread)
FROM ds_threads t
WHERE t.tenant = %(tenant)s AND t.name = %(name)s;

-- name: leftovers
SELECT g.name, g.found FROM (
  SELECT t.name AS name,
    (SELECT count(*) FROM ds_items x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_checkpoints x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_writes x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_events x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_summaries x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_manifests x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_spending x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_cards x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_actions x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_namespaces x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_branches x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_tags x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_runs x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_blob_refs x WHERE x.tenant = t.tenant AND x.thread = t.thread) AS found
  FROM ds_threads t
  WHERE t.tenant = %(tenant)s AND t.deleted_at IS NOT NULL AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
) g
WHERE g.found > 0;

-- name: blobs_unused
SELECT b.digest FROM ds_blobs b
WHERE b.tenant = %(tenant)s AND NOT EXISTS (SELECT 1 FROM ds_blob_refs r WHERE r.tenant = b.tenant AND r.digest = b.digest);

-- name: memory_clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
       (SELECT max(m.updated_at) FROM ds_memories m WHERE m.tenant = %(tenant)s AND m.owner = %(owner)s::text);

-- name: memory_get
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner = %(owner)s::text AND m.namespace = %(namespace)s::text AND m.key = %(key)s::text
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint);

-- name: memories_page
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text)
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
  AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s::bigint AND (m.valid_to IS NULL OR m.valid_to > %(at)s::bigint)))
  AND (m.updated_at < %(before)s::bigint OR (m.updated_at = %(before)s::bigint AND m.memory < %(below)s::bigint))
ORDER BY m.updated_at DESC, m.memory DESC
LIMIT %(limit)s;

-- name: memories_in
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM jsonb_array_elements_text(%(memories)s::jsonb) wanted (value)
JOIN ds_memories m ON m.tenant = %(tenant)s AND m.memory = wanted.value::bigint;

-- name: memories_count
SELECT count(*), coalesce(sum(m.size), 0)
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text)
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
  AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s::bigint AND (m.valid_to IS NULL OR m.valid_to > %(at)s::bigint))) AND m.size > 0;

-- name: memories_matching
SELECT m.memory, m.terms
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text)
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
  AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s::bigint AND (m.valid_to IS NULL OR m.valid_to > %(at)s::bigint))) AND m.size > 0
  AND (m.terms = '\x0000'::bytea
       OR position(%(t0)s::bytea IN m.terms) > 0 OR position(%(t1)s::bytea IN m.terms) > 0 OR position(%(t2)s::bytea IN m.terms) > 0 OR position(%(t3)s::bytea IN m.terms) > 0
       OR position(%(t4)s::bytea IN m.terms) > 0 OR position(%(t5)s::bytea IN m.terms) > 0 OR position(%(t6)s::bytea IN m.terms) > 0 OR position(%(t7)s::bytea IN m.terms) > 0
       OR position(%(t8)s::bytea IN m.terms) > 0 OR position(%(t9)s::bytea IN m.terms) > 0 OR position(%(t10)s::bytea IN m.terms) > 0 OR position(%(t11)s::bytea IN m.terms) > 0
       OR position(%(t12)s::bytea IN m.terms) > 0 OR position(%(t13)s::bytea IN m.terms) > 0 OR position(%(t14)s::bytea IN m.terms) > 0 OR position(%(t15)s::bytea IN m.terms) > 0
       OR position(%(t16)s::bytea IN m.terms) > 0 OR position(%(t17)s::bytea IN m.terms) > 0 OR position(%(t18)s::bytea IN m.terms) > 0 OR position(%(t19)s::bytea IN m.terms) > 0
       OR position(%(t20)s::bytea IN m.terms) > 0 OR position(%(t21)s::bytea IN m.terms) > 0 OR position(%(t22)s::bytea IN m.terms) > 0 OR position(%(t23)s::bytea IN m.terms) > 0
       OR position(%(t24)s::bytea IN m.terms) > 0 OR position(%(t25)s::bytea IN m.terms) > 0 OR position(%(t26)s::bytea IN m.terms) > 0 OR position(%(t27)s::bytea IN m.terms) > 0
       OR position(%(t28)s::bytea IN m.terms) > 0 OR position(%(t29)s::bytea IN m.terms) > 0 OR position(%(t30)s::bytea IN m.terms) > 0 OR position(%(t31)s::bytea IN m.terms) > 0)
ORDER BY m.updated_at DESC, m.memory DESC
LIMIT %(limit)s;

-- name: memories_namespaces
SELECT DISTINCT m.namespace FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner = %(owner)s::text
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint);

-- name: memory_put
INSERT INTO ds_memories AS m
  (tenant, owner, namespace, key, created_at, updated_at, expires_at, ttl, subject, attribute, valid_from, valid_to,
   unembedded, size, terms, fields, body)
VALUES
  (%(tenant)s, %(owner)s, %(namespace)s, %(key)s, %(created_at)s, %(updated_at)s, %(expires_at)s, %(ttl)s, %(subject)s, %(attribute)s,
   %(valid_from)s, %(valid_to)s, %(unembedded)s, %(size)s, %(terms)s, %(fields)s, %(body)s)
ON CONFLICT (tenant, owner, namespace, key) DO UPDATE SET
  created_at = CASE WHEN m.expires_at <= excluded.created_at THEN excluded.created_at ELSE m.created_at END,
  updated_at = excluded.updated_at, expires_at = excluded.expires_at, ttl = excluded.ttl, subject = excluded.subject,
  attribute = excluded.attribute, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
  unembedded = excluded.unembedded, size = excluded.size, terms = excluded.terms, fields = excluded.fields,
  body = excluded.body
RETURNING memory;

-- name: memory_find
SELECT m.memory FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner = %(owner)s::text AND m.namespace = %(namespace)s::text AND m.key = %(key)s::text;

-- name: memories_drop
DELETE FROM ds_memories m WHERE m.tenant = %(tenant)s AND m.memory IN (SELECT value::bigint FROM jsonb_array_elements_text(%(memories)s::jsonb));

-- name: vectors_drop
DELETE FROM ds_vectors m WHERE m.tenant = %(tenant)s AND m.memory IN (SELECT value::bigint FROM jsonb_array_elements_text(%(memories)s::jsonb));

-- name: evidence_drop
DELETE FROM ds_evidence m WHERE m.tenant = %(tenant)s AND m.memory IN (SELECT value::bigint FROM jsonb_array_elements_text(%(memories)s::jsonb));

-- name: memories_expired
SELECT m.memory FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.expires_at <= %(now)s::bigint
ORDER BY m.expires_at
LIMIT %(limit)s;

-- name: memories_touch
UPDATE ds_memories m SET expires_at = %(now)s::bigint + m.ttl
WHERE m.tenant = %(tenant)s AND m.ttl IS NOT NULL AND m.expires_at > %(now)s::bigint AND m.memory IN (SELECT value::bigint FROM jsonb_array_elements_text(%(memories)s::jsonb));

-- name: vector_add
INSERT INTO ds_vectors (tenant, memory, part, vector)
VALUES (%(tenant)s, %(memory)s, %(part)s, translate(%(vector)s::text, '[]', '{}')::real[]);

-- name: vectors_near
SELECT v.memory, max(ds_nearness(v.vector, translate(%(query)s::text, '[]', '{}')::real[])) AS nearness
FROM ds_memories m
JOIN ds_vectors v ON v.tenant = m.tenant AND v.memory = m.memory
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text)
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
  AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s::bigint AND (m.valid_to IS NULL OR m.valid_to > %(at)s::bigint)))
GROUP BY v.memory
ORDER BY nearness DESC, v.memory DESC
LIMIT %(limit)s;

-- name: vectors_near_indexed
SELECT v.memory, max(1 - (v.vector::vector <=> %(query)s::text::vector)) AS nearness
FROM ds_memories m
JOIN ds_vectors v ON v.tenant = m.tenant AND v.memory = m.memory
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text)
  AND (m.namespace = %(exact)s::text OR (m.namespace >= %(low)s::text AND m.namespace < %(high)s::text))
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
  AND (%(subject)s::text IS NULL OR m.subject = %(subject)s::text)
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s::bigint AND (m.valid_to IS NULL OR m.valid_to > %(at)s::bigint)))
GROUP BY v.memory
ORDER BY nearness DESC, v.memory DESC
LIMIT %(limit)s;

-- name: vector_extension
SELECT count(*) FROM pg_catalog.pg_type WHERE typname = 'vector' AND pg_catalog.pg_type_is_visible(oid);

-- name: embedder_get
SELECT name, dims FROM ds_embedders WHERE tenant = %(tenant)s;

-- name: embedder_set
INSERT INTO ds_embedders (tenant, name, dims) VALUES (%(tenant)s, %(name)s, %(dims)s)
ON CONFLICT (tenant) DO UPDATE SET name = excluded.name, dims = excluded.dims;

-- name: embedder_add
INSERT INTO ds_embedders (tenant, name, dims) VALUES (%(tenant)s, %(name)s, %(dims)s)
ON CONFLICT (tenant) DO NOTHING;

-- name: vectors_wipe
DELETE FROM ds_vectors WHERE tenant = %(tenant)s;

-- name: memories_unembed
UPDATE ds_memories SET unembedded = 1 WHERE tenant = %(tenant)s AND size > 0;

-- name: memories_unembedded
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.unembedded = 1 AND m.memory > %(after)s
ORDER BY m.memory
LIMIT %(limit)s;

-- name: memory_embedded
UPDATE ds_memories SET unembedded = 0
WHERE tenant = %(tenant)s AND memory = %(memory)s AND updated_at = %(updated_at)s
RETURNING memory;

-- name: memories_all
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body, m.size, m.terms
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR m.owner = %(owner)s::text) AND m.memory > %(after)s
ORDER BY m.memory
LIMIT %(limit)s;

-- name: vectors_loose
SELECT v.memory, v.part, cardinality(v.vector), e.dims, m.memory FROM ds_vectors v
LEFT JOIN ds_embedders e ON e.tenant = v.tenant
LEFT JOIN ds_memories m ON m.tenant = v.tenant AND m.memory = v.memory
WHERE v.tenant = %(tenant)s AND (m.memory IS NULL OR e.dims IS NULL OR cardinality(v.vector) <> e.dims);

-- name: evidence_loose
SELECT e.memory, e.thread, e.seq, m.memory, t.thread FROM ds_evidence e
LEFT JOIN ds_memories m ON m.tenant = e.tenant AND m.memory = e.memory
LEFT JOIN ds_threads t ON t.tenant = e.tenant AND t.thread = e.thread
WHERE e.tenant = %(tenant)s AND (m.memory IS NULL OR t.thread IS NULL);

-- name: fact_lock
SELECT pg_advisory_xact_lock(hashtextextended(%(matter)s::text, 0));

-- name: facts_of
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.owner IN (%(owner)s::text, %(shared)s::text) AND m.subject = %(subject)s::text
  AND (%(attribute)s::text IS NULL OR m.attribute = %(attribute)s::text)
  AND (m.expires_at IS NULL OR m.expires_at > %(now)s::bigint)
ORDER BY m.valid_from, m.memory;

-- name: fact_close
UPDATE ds_memories SET valid_to = %(valid_to)s, updated_at = %(updated_at)s
WHERE tenant = %(tenant)s AND memory = %(memory)s;

-- name: evidence_add
INSERT INTO ds_evidence (tenant, memory, thread, seq, author)
VALUES (%(tenant)s, %(memory)s, %(thread)s, %(seq)s, %(author)s)
ON CONFLICT (tenant, memory, thread, seq) DO NOTHING;

-- name: evidence_of
SELECT m.memory, t.name, m.seq, m.author, t.deleted_at FROM ds_evidence m
JOIN ds_threads t ON t.tenant = m.tenant AND t.thread = m.thread
WHERE m.tenant = %(tenant)s AND m.memory IN (SELECT value::bigint FROM jsonb_array_elements_text(%(memories)s::jsonb))
ORDER BY m.memory, t.name, m.seq;

-- name: evidence_of_thread
SELECT e.memory, (SELECT count(*) FROM ds_evidence o
                  WHERE o.tenant = e.tenant AND o.memory = e.memory AND o.thread <> e.thread)
FROM ds_evidence e
WHERE e.tenant = %(tenant)s AND e.thread = %(thread)s
GROUP BY e.tenant, e.memory, e.thread
ORDER BY e.memory;

-- name: evidence_drop_thread
DELETE FROM ds_evidence WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: memories_of_owner
SELECT m.memory FROM ds_memories m WHERE m.tenant = %(tenant)s AND m.owner = %(owner)s::text ORDER BY m.memory;

-- name: evidence_events
SELECT e.seq, e.kind, e.author, e.at, i.body
FROM (SELECT DISTINCT part::int AS seq FROM jsonb_array_elements_text(%(seqs)s::jsonb) p (part)) n
CROSS JOIN LATERAL (
  SELECT * FROM ds_events x WHERE x.tenant = %(tenant)s AND x.thread = %(thread)s AND x.seq BETWEEN n.seq AND n.seq ORDER BY x.seq LIMIT 1
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
ORDER BY e.seq;

-- name: fact_named
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = %(tenant)s AND m.key = %(key)s AND m.subject IS NOT NULL
  AND (m.expires_at IS NULL OR m.expires_at > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
LIMIT 1;

-- name: actions_of
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_threads t
JOIN ds_actions a ON a.tenant = t.tenant AND a.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.name = %(thread)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(state)s::text IS NULL OR a.state = %(state)s)
ORDER BY a.created_at, a.key
LIMIT %(limit)s;

-- name: actions_open
SELECT state, lease_until FROM ds_actions
WHERE tenant = %(tenant)s AND thread = %(thread)s AND state NOT IN ('succeeded', 'failed');

-- name: tag_add
INSERT INTO ds_tags (tenant, thread, tag) VALUES (%(tenant)s, %(thread)s, %(tag)s) ON CONFLICT DO NOTHING;

-- name: tag_drop
DELETE FROM ds_tags WHERE tenant = %(tenant)s AND thread = %(thread)s AND tag = %(tag)s;

-- name: tags_of
SELECT tag FROM ds_tags WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY tag;

-- name: wipe_tags
DELETE FROM ds_tags WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_tags
INSERT INTO ds_tags (tenant, thread, tag) SELECT tenant, %(to)s::bigint, tag FROM ds_tags WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: retention_page
SELECT t.name FROM ds_threads t
WHERE t.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s) AND t.deleted_at IS NULL
  AND (%(after)s::text IS NULL OR t.name > %(after)s)
ORDER BY t.name
LIMIT %(limit)s;

-- name: thread_stands
UPDATE ds_threads SET stands = %(stands)s WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: runs_due
-- Runs to go on with: their lease ran out, or a new attempt is due, or (only where asked for) nothing has moved for long.
SELECT t.name, t.thread, t.stands, t.fence, t.lease_until, t.updated_at, t.checkpoints
FROM (
  SELECT thread FROM (
    SELECT d.thread FROM ds_threads d
    WHERE d.tenant = %(tenant)s AND d.lease_until <= %(now)s AND (%(owner)s::text IS NULL OR d.owner = %(owner)s)
    ORDER BY d.lease_until LIMIT %(reach)s
  ) c1
  UNION
  SELECT thread FROM (
    SELECT r.thread FROM ds_runs r
    WHERE r.tenant = %(tenant)s AND r.due <= %(now)s
    ORDER BY r.due LIMIT %(reach)s
  ) c2
  UNION
  SELECT thread FROM (
    SELECT i.thread FROM ds_threads i
    WHERE i.tenant = %(tenant)s AND i.stands = 1 AND i.stands <> 0 AND i.lease_until IS NULL AND i.updated_at <= %(idle)s::bigint
      AND (%(owner)s::text IS NULL OR i.owner = %(owner)s)
    ORDER BY i.name LIMIT %(reach)s
  ) c3
) c
JOIN ds_threads t ON t.tenant = %(tenant)s AND t.thread = c.thread
WHERE t.deleted_at IS NULL AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (t.lease_until IS NULL OR t.lease_until <= %(now)s)
ORDER BY coalesce(t.lease_until, t.updated_at), t.thread
LIMIT %(limit)s
FOR UPDATE OF t SKIP LOCKED;

-- name: run_find
SELECT attempts, failures, deaths, taken_at, fingerprint, error, place, failed_at, parked_at, due
FROM ds_runs WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: run_save
INSERT INTO ds_runs (tenant, thread, attempts, failures, deaths, taken_at, fingerprint, error, place, failed_at, parked_at, due)
VALUES (%(tenant)s, %(thread)s, %(attempts)s, %(failures)s, %(deaths)s, %(taken_at)s, %(fingerprint)s, %(error)s, %(place)s, %(failed_at)s, %(parked_at)s, %(due)s)
ON CONFLICT (tenant, thread) DO UPDATE
SET attempts = excluded.attempts, failures = excluded.failures, deaths = excluded.deaths,
    taken_at = excluded.taken_at, fingerprint = excluded.fingerprint,
    error = excluded.error, place = excluded.place, failed_at = excluded.failed_at, parked_at = excluded.parked_at,
    due = excluded.due;

-- name: run_taken
UPDATE ds_runs SET due = NULL WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: wipe_runs
DELETE FROM ds_runs WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: runs_one
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.name = %(name)s AND t.deleted_at IS NULL;

-- name: runs_page
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.deleted_at IS NULL AND t.checkpoints > 0 AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(after)s::text IS NULL OR t.name > %(after)s)
ORDER BY t.name
LIMIT %(limit)s;

-- name: retention_count
SELECT count(*) FROM ds_threads t
WHERE t.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR t.owner = %(owner)s) AND t.deleted_at IS NULL;

-- name: thread_used
SELECT updated_at FROM ds_threads WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: head_writes
SELECT count(*) FROM ds_namespaces n
JOIN ds_writes w ON w.tenant = n.tenant AND w.thread = n.thread AND w.ckpt = n.head
WHERE n.tenant = %(tenant)s AND n.thread = %(thread)s AND n.ns = 0;

-- name: checkpoint_facts
SELECT ckpt, ns, id, branch, created_at, state IS NOT NULL FROM ds_checkpoints
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY ckpt;

-- name: blobs_alone
SELECT r.digest, octet_length((b.body)::text) FROM ds_blob_refs r
JOIN ds_blobs b ON b.tenant = r.tenant AND b.digest = r.digest
WHERE r.tenant = %(tenant)s AND r.thread = %(thread)s
  AND NOT EXISTS (SELECT 1 FROM ds_blob_refs o
                  WHERE o.tenant = r.tenant AND o.digest = r.digest AND o.thread <> r.thread);

-- name: thread_sizes
SELECT 'ds_items', count(*), coalesce(sum(octet_length((body)::text) + coalesce(octet_length(digest), 0)), 0)
FROM ds_items WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_checkpoints', count(*),
       coalesce(sum(coalesce(octet_length((state)::text), 0) + coalesce(octet_length((frame)::text), 0)), 0)
FROM ds_checkpoints WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_writes', count(*), coalesce(sum(octet_length((body)::text) + octet_length((path)::text)), 0)
FROM ds_writes WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_events', count(*), coalesce(sum(octet_length(terms) + octet_length((author)::text)), 0)
FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_summaries', count(*),
       coalesce(sum(octet_length((policy)::text) + octet_length((lines)::text) + octet_length((facts)::text)), 0)
FROM ds_summaries WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_manifests', count(*), coalesce(sum(octet_length(body) + octet_length(node)), 0)
FROM ds_manifests WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_spending', count(*), coalesce(sum(octet_length(run)), 0)
FROM ds_spending WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_cards', count(*), coalesce(sum(octet_length((body)::text)), 0)
FROM ds_cards WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_runs', count(*),
       coalesce(sum(coalesce(octet_length(error), 0) + coalesce(octet_length(place), 0)), 0)
FROM ds_runs WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_actions', count(*),
       coalesce(sum(octet_length((arguments)::text) + coalesce(octet_length((recipient)::text), 0)
                    + coalesce(octet_length((result)::text), 0) + coalesce(octet_length((error)::text), 0)
                    + coalesce(octet_length((approval)::text), 0)), 0)
FROM ds_actions WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_namespaces', count(*), coalesce(sum(octet_length((name)::text)), 0)
FROM ds_namespaces WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_branches', count(*), 0 FROM ds_branches WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_tags', count(*), coalesce(sum(octet_length((tag)::text)), 0)
FROM ds_tags WHERE tenant = %(tenant)s AND thread = %(thread)s
UNION ALL
SELECT 'ds_blob_refs', count(*), coalesce(sum(octet_length(digest)), 0)
FROM ds_blob_refs WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: audit_size
SELECT count(*), coalesce(sum(octet_length((body)::text)), 0) FROM ds_audit
WHERE tenant = %(tenant)s AND thread = %(thread)s AND body IS NOT NULL;

-- name: audit_erase
UPDATE ds_audit SET body = NULL WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: audit_all
SELECT seq, body FROM ds_audit WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY seq;

-- name: audit_root_begin
INSERT INTO ds_audit_roots (tenant, chains, hash) VALUES (%(tenant)s, 0, NULL) ON CONFLICT DO NOTHING;

-- name: audit_root_lock
SELECT chains, hash, seal FROM ds_audit_roots WHERE tenant = %(tenant)s FOR UPDATE;

-- name: audit_root
SELECT chains, hash, seal FROM ds_audit_roots WHERE tenant = %(tenant)s;

-- name: audit_root_save
UPDATE ds_audit_roots SET chains = %(chains)s, hash = %(hash)s, seal = %(seal)s WHERE tenant = %(tenant)s;

-- name: forms_unused
SELECT form FROM ds_forms WHERE tenant = %(tenant)s
EXCEPT
SELECT shape FROM ds_checkpoints WHERE tenant = %(tenant)s
EXCEPT
SELECT graph FROM ds_checkpoints WHERE tenant = %(tenant)s;

-- name: form_lock
SELECT form FROM ds_forms WHERE tenant = %(tenant)s AND form = %(form)s FOR UPDATE;

-- name: form_drop
DELETE FROM ds_forms WHERE tenant = %(tenant)s AND form = %(form)s
  AND NOT EXISTS (SELECT 1 FROM ds_checkpoints c WHERE c.tenant = %(tenant)s AND (c.shape = %(form)s OR c.graph = %(form)s));

-- name: thread_erase
UPDATE ds_threads
SET name = %(pseudonym)s, owner = NULL, deleted_at = coalesce(deleted_at, %(now)s), updated_at = %(now)s, wiped = events,
    lease_holder = NULL, stands = 0, lease_until = NULL
WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: owned_threads
SELECT name FROM ds_threads WHERE tenant = %(tenant)s AND owner = %(owner)s ORDER BY name;

-- name: erasure_add
INSERT INTO ds_erasures (tenant, thread, at, salt, digest, closed_until, rewritten_at)
VALUES (%(tenant)s, %(thread)s, %(at)s, %(salt)s, %(digest)s, %(closed_until)s, NULL);

-- name: erasure_of
SELECT at FROM ds_erasures WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: erasures_due
SELECT thread FROM ds_erasures WHERE tenant = %(tenant)s AND rewritten_at IS NULL ORDER BY thread;

-- name: erasure_rewritten
UPDATE ds_erasures SET rewritten_at = %(at)s WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: erasure_salts
SELECT DISTINCT salt FROM ds_erasures WHERE tenant = %(tenant)s AND digest IS NOT NULL AND closed_until > %(now)s;

-- name: erasure_find
SELECT thread, closed_until FROM ds_erasures WHERE tenant = %(tenant)s AND digest = %(digest)s AND closed_until > %(now)s;

-- name: erasure_release
UPDATE ds_erasures SET salt = NULL, digest = NULL, closed_until = NULL WHERE tenant = %(tenant)s AND digest = %(digest)s;

-- name: erasures_forget
UPDATE ds_erasures SET salt = NULL, digest = NULL, closed_until = NULL
WHERE tenant = %(tenant)s AND digest IS NOT NULL AND closed_until <= %(now)s;
-- name: runs_finished
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.deleted_at IS NULL AND t.checkpoints > 0 AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(after)s::text IS NULL OR t.name > %(after)s) AND t.stands = 0 AND (t.lease_until IS NULL OR t.lease_until <= %(now)s)
ORDER BY t.name
LIMIT %(limit)s;

-- name: runs_leased
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.deleted_at IS NULL AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(after)s::text IS NULL OR t.name > %(after)s) AND t.lease_until > %(now)s
ORDER BY t.name
LIMIT %(limit)s;

-- name: runs_left
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.deleted_at IS NULL AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(after)s::text IS NULL OR t.name > %(after)s) AND t.lease_until <= %(now)s AND t.stands = 1
ORDER BY t.name
LIMIT %(limit)s;

-- name: runs_standing
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = %(tenant)s AND t.deleted_at IS NULL AND (%(owner)s::text IS NULL OR t.owner = %(owner)s)
  AND (%(after)s::text IS NULL OR t.name > %(after)s) AND t.stands = %(stands)s AND t.stands <> 0
  AND (t.lease_until IS NULL OR (t.lease_until <= %(now)s AND t.stands > 1))
ORDER BY t.name
LIMIT %(limit)s;
-- name: manifest_add
INSERT INTO ds_manifests (tenant, thread, manifest, at, step, checkpoint, ns, task, node, body)
SELECT %(tenant)s::integer, %(thread)s::bigint, coalesce(max(manifest), 0) + 1, %(at)s::bigint, %(step)s::integer, %(checkpoint)s::text, %(ns)s::text, %(task)s::text, %(node)s::text, %(body)s::text
FROM ds_manifests WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: manifests_page
SELECT manifest, at, step, checkpoint, ns, task, node, body FROM ds_manifests
WHERE tenant = %(tenant)s AND thread = %(thread)s AND manifest > %(after)s ORDER BY manifest LIMIT %(limit)s;

-- name: wipe_manifests
DELETE FROM ds_manifests WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_manifests
INSERT INTO ds_manifests (tenant, thread, manifest, at, step, checkpoint, ns, task, node, body)
SELECT tenant, %(to)s, manifest, at, step, checkpoint, ns, task, node, body
FROM ds_manifests WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: spending_add
INSERT INTO ds_spending (tenant, thread, run, at, calls, input_tokens, output_tokens, steps, micros, nanos)
VALUES (%(tenant)s, %(thread)s, %(run)s, %(at)s, %(calls)s, %(input_tokens)s, %(output_tokens)s, %(steps)s, %(micros)s, %(nanos)s)
ON CONFLICT (tenant, thread, run) DO UPDATE
SET at = excluded.at,
    calls = ds_spending.calls + excluded.calls,
    input_tokens = ds_spending.input_tokens + excluded.input_tokens,
    output_tokens = ds_spending.output_tokens + excluded.output_tokens,
    steps = ds_spending.steps + excluded.steps,
    micros = ds_spending.micros + excluded.micros,
    nanos = ds_spending.nanos + excluded.nanos;

-- name: spending_one
SELECT calls, input_tokens, output_tokens, steps, micros, nanos FROM ds_spending
WHERE tenant = %(tenant)s AND thread = %(thread)s AND run = %(run)s;

-- name: spending_all
SELECT run, at, calls, input_tokens, output_tokens, steps, micros, nanos FROM ds_spending
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY at, run;

-- name: wipe_spending
DELETE FROM ds_spending WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- The doctor's questions.

-- name: threads_beside
SELECT t.thread, t.name, t.created_at, t.updated_at, t.events - t.wiped FROM ds_threads t
WHERE t.tenant = %(tenant)s AND t.created_at BETWEEN %(first)s AND %(last)s AND t.name <> %(name)s
  AND t.owner IS NOT DISTINCT FROM %(owner)s::text AND t.deleted_at IS NULL
ORDER BY t.created_at
LIMIT %(limit)s;

-- name: openings
SELECT e.thread, i.body FROM jsonb_array_elements_text(%(threads)s::jsonb) w (thread)
JOIN ds_threads t ON t.tenant = %(tenant)s AND t.thread = w.thread::bigint
CROSS JOIN LATERAL (
  SELECT * FROM ds_events x
  WHERE x.tenant = t.tenant AND x.thread = t.thread AND x.seq > t.wiped AND x.seq <= t.wiped + %(events)s OFFSET 0
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
ORDER BY e.thread, e.seq;

-- name: summaries_count
SELECT count(*) FROM ds_summaries WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: cards_of
SELECT branch, cursor, version, forgotten, at, body FROM ds_cards
WHERE tenant = %(tenant)s AND thread = %(thread)s AND branch IN (SELECT x::int FROM jsonb_array_elements_text(%(branches)s::jsonb) x);

-- name: card_save
INSERT INTO ds_cards (tenant, thread, branch, cursor, version, forgotten, at, body)
VALUES (%(tenant)s, %(thread)s, %(branch)s, %(cursor)s, %(version)s, %(forgotten)s, %(at)s, %(body)s)
ON CONFLICT (tenant, thread, branch) DO UPDATE SET
  cursor = excluded.cursor, version = excluded.version, forgotten = excluded.forgotten, at = excluded.at,
  body = excluded.body;

-- name: cards_all
SELECT branch, cursor, version, forgotten, at, body FROM ds_cards
WHERE tenant = %(tenant)s AND thread = %(thread)s ORDER BY branch;

-- name: wipe_cards
DELETE FROM ds_cards WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: copy_cards
INSERT INTO ds_cards (tenant, thread, branch, cursor, version, forgotten, at, body)
SELECT tenant, %(to)s, branch, cursor, version, forgotten, at, body
FROM ds_cards WHERE tenant = %(tenant)s AND thread = %(thread)s;

-- name: events_counted
SELECT count(*) FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s AND seq > %(after)s;

-- name: events_numbers
SELECT seq FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s AND seq > %(after)s ORDER BY seq;

-- name: events_begin
SELECT min(seq) FROM ds_events WHERE tenant = %(tenant)s AND thread = %(thread)s AND branch IN (SELECT x::int FROM jsonb_array_elements_text(%(branches)s::jsonb) x);

-- name: actions_latest
SELECT key, name, kind, recipient, arguments, state, attempts, lease_until, approval, error, created_at, updated_at,
       ended_at
FROM ds_actions
WHERE tenant = %(tenant)s AND thread = %(thread)s
ORDER BY CASE WHEN state IN ('succeeded', 'failed') THEN 1 ELSE 0 END, updated_at DESC, key
LIMIT %(limit)s;

-- name: actions_counted
SELECT state, count(*) FROM ds_actions WHERE tenant = %(tenant)s AND thread = %(thread)s GROUP BY state;

-- name: events_counted_in
SELECT count(*) FROM ds_events e
JOIN jsonb_array_elements(%(spans)s::jsonb) s (part) ON e.branch = (s.part ->> 0)::int
 AND coalesce(e.ckpt, 0) <= (s.part ->> 1)::bigint
WHERE e.tenant = %(tenant)s AND e.thread = %(thread)s AND e.seq > %(after)s;

-- name: events_after
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, NULL, NULL, i.body, e.lane, e.pos FROM (
  SELECT * FROM ds_events v
  WHERE v.tenant = %(tenant)s AND v.thread = %(thread)s AND v.seq > %(after)s
    AND (SELECT bool_or(v.branch = (s.part ->> 0)::int AND coalesce(v.ckpt, 0) <= (s.part ->> 1)::bigint)
         FROM jsonb_array_elements(%(spans)s::jsonb) s (part))
  ORDER BY v.seq
  LIMIT %(limit)s
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
ORDER BY e.seq;

-- name: events_last
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, NULL, NULL, i.body, e.lane, e.pos FROM (
  SELECT * FROM ds_events v
  WHERE v.tenant = %(tenant)s AND v.thread = %(thread)s AND v.seq <= %(before)s
    AND (SELECT bool_or(v.branch = (s.part ->> 0)::int AND coalesce(v.ckpt, 0) <= (s.part ->> 1)::bigint)
         FROM jsonb_array_elements(%(spans)s::jsonb) s (part))
  ORDER BY v.seq DESC
  LIMIT %(limit)s
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
ORDER BY e.seq DESC;

-- name: events_numbered
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos
FROM (SELECT DISTINCT part::int AS seq FROM jsonb_array_elements_text(%(numbers)s::jsonb) p (part)) n
CROSS JOIN LATERAL (
  SELECT * FROM ds_events v
  WHERE v.tenant = %(tenant)s AND v.thread = %(thread)s AND v.seq = n.seq
    AND (SELECT bool_or(v.branch = (s.part ->> 0)::int AND coalesce(v.ckpt, 0) <= (s.part ->> 1)::bigint)
         FROM jsonb_array_elements(%(spans)s::jsonb) s (part))
  OFFSET 0
) e
LEFT JOIN LATERAL (
  SELECT x.body FROM ds_items x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.lane = e.lane AND x.pos = e.pos OFFSET 0
) i ON true
LEFT JOIN LATERAL (
  SELECT x.id, x.frame FROM ds_checkpoints x
  WHERE x.tenant = e.tenant AND x.thread = e.thread AND x.ckpt BETWEEN e.ckpt AND e.ckpt AND x.state IS NOT NULL
  ORDER BY x.ckpt LIMIT 1
) c ON true
ORDER BY e.seq;

-- The answer cache.

-- name: answers_keyed
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.owner IN (%(owner)s::text, %(shared)s::text) AND a.scope = %(scope)s::text
  AND (a.expires_at IS NULL OR a.expires_at > %(now)s::bigint) AND a.key = %(key)s::bytea
ORDER BY a.owner DESC;

-- name: answers_matching
SELECT a.answer, a.terms
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.owner IN (%(owner)s::text, %(shared)s::text) AND a.scope = %(scope)s::text
  AND (a.expires_at IS NULL OR a.expires_at > %(now)s::bigint)
  AND (a.terms = '\x0000'::bytea
       OR position(%(t0)s::bytea IN a.terms) > 0 OR position(%(t1)s::bytea IN a.terms) > 0 OR position(%(t2)s::bytea IN a.terms) > 0 OR position(%(t3)s::bytea IN a.terms) > 0
       OR position(%(t4)s::bytea IN a.terms) > 0 OR position(%(t5)s::bytea IN a.terms) > 0 OR position(%(t6)s::bytea IN a.terms) > 0 OR position(%(t7)s::bytea IN a.terms) > 0
       OR position(%(t8)s::bytea IN a.terms) > 0 OR position(%(t9)s::bytea IN a.terms) > 0 OR position(%(t10)s::bytea IN a.terms) > 0 OR position(%(t11)s::bytea IN a.terms) > 0
       OR position(%(t12)s::bytea IN a.terms) > 0 OR position(%(t13)s::bytea IN a.terms) > 0 OR position(%(t14)s::bytea IN a.terms) > 0 OR position(%(t15)s::bytea IN a.terms) > 0
       OR position(%(t16)s::bytea IN a.terms) > 0 OR position(%(t17)s::bytea IN a.terms) > 0 OR position(%(t18)s::bytea IN a.terms) > 0 OR position(%(t19)s::bytea IN a.terms) > 0
       OR position(%(t20)s::bytea IN a.terms) > 0 OR position(%(t21)s::bytea IN a.terms) > 0 OR position(%(t22)s::bytea IN a.terms) > 0 OR position(%(t23)s::bytea IN a.terms) > 0
       OR position(%(t24)s::bytea IN a.terms) > 0 OR position(%(t25)s::bytea IN a.terms) > 0 OR position(%(t26)s::bytea IN a.terms) > 0 OR position(%(t27)s::bytea IN a.terms) > 0
       OR position(%(t28)s::bytea IN a.terms) > 0 OR position(%(t29)s::bytea IN a.terms) > 0 OR position(%(t30)s::bytea IN a.terms) > 0 OR position(%(t31)s::bytea IN a.terms) > 0)
ORDER BY a.stored_at DESC, a.answer DESC
LIMIT %(limit)s;

-- name: answers_near
SELECT a.answer, ds_nearness(a.vector, translate(%(query)s::text, '[]', '{}')::real[]) AS nearness
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.owner IN (%(owner)s::text, %(shared)s::text) AND a.scope = %(scope)s::text
  AND (a.expires_at IS NULL OR a.expires_at > %(now)s::bigint) AND a.calibration = %(calibration)s::int
ORDER BY nearness DESC, a.answer DESC
LIMIT %(limit)s;

-- name: answers_near_indexed
SELECT a.answer, 1 - (a.vector::vector <=> %(query)s::text::vector) AS nearness
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.owner IN (%(owner)s::text, %(shared)s::text) AND a.scope = %(scope)s::text
  AND (a.expires_at IS NULL OR a.expires_at > %(now)s::bigint) AND a.calibration = %(calibration)s::int
ORDER BY nearness DESC, a.answer DESC
LIMIT %(limit)s;

-- name: answer_nearness
SELECT ds_nearness(a.vector, translate(%(query)s::text, '[]', '{}')::real[]) FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.answer = %(answer)s AND a.vector IS NOT NULL;

-- name: answers_in
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
ORDER BY a.answer;

-- name: answers_all
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body, a.terms
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
  AND (%(scope)s::text IS NULL OR a.scope = %(scope)s::text) AND a.answer > %(after)s
ORDER BY a.answer
LIMIT %(limit)s;

-- name: answers_named
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.id = %(id)s::text AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''));

-- name: answers_asked
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.key = %(key)s::bytea AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
  AND (%(scope)s::text IS NULL OR a.scope = %(scope)s::text)
ORDER BY a.answer;

-- name: answer_put
INSERT INTO ds_answers AS a
  (tenant, owner, scope, key, id, author, said_in, stored_at, expires_at, calibration, vector, terms, body)
VALUES
  (%(tenant)s, %(owner)s, %(scope)s, %(key)s, %(id)s, %(author)s, %(thread)s, %(stored_at)s, %(expires_at)s, %(calibration)s,
   translate(%(vector)s::text, '[]', '{}')::real[], %(terms)s, %(body)s)
ON CONFLICT (tenant, owner, scope, key) DO UPDATE SET
  author = excluded.author, said_in = excluded.said_in, stored_at = excluded.stored_at, expires_at = excluded.expires_at,
  calibration = excluded.calibration, vector = excluded.vector, terms = excluded.terms, body = excluded.body
RETURNING answer, id;

-- name: answer_vector_set
UPDATE ds_answers SET calibration = %(calibration)s, vector = translate(%(vector)s::text, '[]', '{}')::real[]
WHERE tenant = %(tenant)s AND answer = %(answer)s AND stored_at = %(stored_at)s
RETURNING answer;

-- name: answers_drop
DELETE FROM ds_answers a WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb));

-- name: answer_sources_drop
DELETE FROM ds_answer_sources a WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb));

-- name: answer_uses_drop
DELETE FROM ds_answer_uses a WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb));

-- name: answer_parents_drop
DELETE FROM ds_answer_parents a
WHERE a.tenant = %(tenant)s AND (a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
   OR a.parent IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb)));

-- name: answer_source_add
INSERT INTO ds_answer_sources (tenant, answer, source, version)
VALUES (%(tenant)s, %(answer)s, %(source)s, %(version)s);

-- name: answer_sources_of
SELECT a.answer, a.source, a.version FROM ds_answer_sources a
WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
ORDER BY a.answer, a.source;

-- name: answers_from_source
SELECT DISTINCT s.answer FROM ds_answer_sources s
JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = %(tenant)s AND s.source = %(source)s::text AND (%(version)s::text IS NULL OR s.version = %(version)s::text)
  AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
ORDER BY s.answer;

-- name: answer_parent_add
INSERT INTO ds_answer_parents (tenant, parent, answer) VALUES (%(tenant)s, %(parent)s, %(answer)s)
ON CONFLICT (tenant, parent, answer) DO NOTHING;

-- name: answer_parents_of
SELECT p.answer, a.id FROM ds_answer_parents p
JOIN ds_answers a ON a.tenant = p.tenant AND a.answer = p.parent
WHERE p.tenant = %(tenant)s AND p.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
ORDER BY p.answer, p.parent;

-- name: answer_children
SELECT DISTINCT a.answer FROM ds_answer_parents a
WHERE a.tenant = %(tenant)s AND a.parent IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
ORDER BY a.answer;

-- name: answer_lock
SELECT a.answer FROM ds_answers a WHERE a.tenant = %(tenant)s AND a.answer = %(answer)s FOR UPDATE;

-- name: answer_use_add
INSERT INTO ds_answer_uses (tenant, answer, use, at, band, key, asked, owner, said_in, coordinate)
SELECT %(tenant)s::int, %(answer)s::bigint, coalesce(max(u.use), 0) + 1, %(at)s::bigint, %(band)s::text, %(key)s::bytea, %(asked)s::text,
       %(owner)s::text, %(thread)s::text, %(coordinate)s::text
FROM ds_answer_uses u WHERE u.tenant = %(tenant)s AND u.answer = %(answer)s;

-- name: answer_uses_of
SELECT a.answer, a.at, a.band, a.asked, a.owner, a.said_in, a.coordinate FROM ds_answer_uses a
WHERE a.tenant = %(tenant)s AND a.answer IN (SELECT value::bigint FROM jsonb_array_elements_text(%(answers)s::jsonb))
ORDER BY a.at DESC, a.answer, a.use DESC;

-- name: answers_lent
SELECT DISTINCT u.answer FROM ds_answer_uses u
JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = %(tenant)s AND u.key = %(key)s::bytea AND u.band = 'reference' AND a.scope = %(scope)s::text
  AND a.owner IN (%(owner)s::text, '')
ORDER BY u.answer;

-- name: answers_expired
SELECT a.answer FROM ds_answers a
WHERE a.tenant = %(tenant)s AND a.expires_at <= %(now)s
ORDER BY a.expires_at
LIMIT %(limit)s;

-- name: answers_of_user
SELECT a.answer FROM ds_answers a
WHERE a.tenant = %(tenant)s AND (a.owner = %(owner)s OR a.author = %(owner)s)
ORDER BY a.answer;

-- name: answers_of_thread
SELECT a.answer FROM ds_answers a WHERE a.tenant = %(tenant)s AND a.said_in = %(thread)s ORDER BY a.answer;

-- name: answer_uses_forget_user
DELETE FROM ds_answer_uses WHERE tenant = %(tenant)s AND owner = %(owner)s;

-- name: answer_uses_forget_thread
DELETE FROM ds_answer_uses WHERE tenant = %(tenant)s AND said_in = %(thread)s;

-- name: answer_uses_count
SELECT u.band, count(*) FROM ds_answer_uses u
JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
GROUP BY u.band;

-- name: answers_count
SELECT a.scope, count(*), coalesce(sum(octet_length(a.body)), 0),
       coalesce(sum(CASE WHEN a.expires_at <= %(now)s::bigint THEN 1 ELSE 0 END), 0),
       coalesce(sum(CASE WHEN a.calibration <> %(calibration)s::int THEN 1 ELSE 0 END), 0)
FROM ds_answers a
WHERE a.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
GROUP BY a.scope
ORDER BY a.scope;

-- name: answer_sources_count
SELECT s.source, count(*) FROM ds_answer_sources s
JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = %(tenant)s AND (%(owner)s::text IS NULL OR a.owner IN (%(owner)s::text, ''))
GROUP BY s.source
ORDER BY s.source;

-- name: answers_loose
SELECT 'source', s.answer FROM ds_answer_sources s
LEFT JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = %(tenant)s AND a.answer IS NULL
UNION ALL
SELECT 'use', u.answer FROM ds_answer_uses u
LEFT JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = %(tenant)s AND a.answer IS NULL
UNION ALL
SELECT 'link', p.answer FROM ds_answer_parents p
LEFT JOIN ds_answers a ON a.tenant = p.tenant AND a.answer = p.answer
LEFT JOIN ds_answers b ON b.tenant = p.tenant AND b.answer = p.parent
WHERE p.tenant = %(tenant)s AND (a.answer IS NULL OR b.answer IS NULL)
UNION ALL
SELECT 'vector', a.answer FROM ds_answers a
LEFT JOIN ds_calibrations c ON c.tenant = a.tenant AND c.calibration = a.calibration
WHERE a.tenant = %(tenant)s AND ((a.calibration IS NULL) <> (a.vector IS NULL)
   OR (a.vector IS NOT NULL AND (c.dims IS NULL OR cardinality(a.vector) <> c.dims)));

-- name: calibration_add
INSERT INTO ds_calibrations (tenant, calibration, at, embedder, dims, hit, reference, body)
SELECT %(tenant)s::int, coalesce(max(calibration), 0) + 1, %(at)s::bigint, %(embedder)s::text, %(dims)s::int, %(hit)s::float8, %(reference)s::float8,
       %(body)s::text
FROM ds_calibrations WHERE tenant = %(tenant)s
RETURNING calibration;

-- name: calibrations_all
SELECT calibration, at, embedder, dims, hit, reference, body FROM ds_calibrations
WHERE tenant = %(tenant)s ORDER BY calibration DESC;

-- name: part_begin
SAVEPOINT part;

-- name: part_undo
ROLLBACK TO SAVEPOINT part;

-- name: part_end
RELEASE SAVEPOINT part;
