-- Statements of the SQLite store. Names, parameters and columns are the contract of dalsegno.contracts.
-- Nobody runs ANALYZE on a user's file, so joins with lists of parameters say their order (CROSS JOIN) and, where
-- SQLite would guess wrong, their index.

-- name: tenant_add
INSERT INTO ds_tenants (name) VALUES (:name) ON CONFLICT DO NOTHING;

-- name: tenant_find
SELECT tenant FROM ds_tenants WHERE name = :name;

-- name: now
SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER);

-- name: thread_add
INSERT INTO ds_threads (tenant, name, owner, created_at, updated_at)
VALUES (:tenant, :name, :owner, :now, :now)
ON CONFLICT DO NOTHING;

-- name: thread_lock
SELECT thread, owner, deleted_at, events, wiped, pool, lanes, checkpoints, branches, namespaces, fence, lease_holder,
       lease_until, CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)
FROM ds_threads WHERE tenant = :tenant AND name = :name;

-- name: thread_find
SELECT thread, owner, deleted_at, events, wiped, pool, lanes, checkpoints, branches, namespaces, fence, lease_holder,
       lease_until, CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)
FROM ds_threads WHERE tenant = :tenant AND name = :name;

-- name: thread_save
UPDATE ds_threads
SET events = :events, wiped = :wiped, pool = :pool, lanes = :lanes, checkpoints = :checkpoints, branches = :branches,
    namespaces = :namespaces, updated_at = :now
WHERE tenant = :tenant AND thread = :thread;

-- name: thread_tombstone
UPDATE ds_threads SET deleted_at = :now, updated_at = :now, lease_holder = NULL, lease_until = NULL
WHERE tenant = :tenant AND thread = :thread;

-- name: thread_reopen
UPDATE ds_threads SET deleted_at = NULL, updated_at = :now WHERE tenant = :tenant AND thread = :thread;

-- name: thread_lease
UPDATE ds_threads SET fence = :fence, lease_holder = :holder, lease_until = :until
WHERE tenant = :tenant AND thread = :thread;

-- name: threads_page
SELECT t.name, t.owner, t.created_at, t.updated_at, t.deleted_at, t.events, t.lease_holder, t.lease_until,
       (SELECT count(*) FROM ds_checkpoints c
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL)
FROM ds_threads t
WHERE t.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND (:deleted OR t.deleted_at IS NULL)
  AND (:after IS NULL OR t.name > :after)
ORDER BY t.name
LIMIT :limit;

-- name: thread_names
SELECT t.name FROM ds_threads t
WHERE t.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND t.deleted_at IS NULL
ORDER BY t.updated_at DESC, t.thread DESC;

-- name: thread_bytes
SELECT coalesce((SELECT sum(length(CAST(body AS BLOB))) FROM ds_items WHERE tenant = :tenant AND thread = :thread), 0)
     + coalesce((SELECT sum(length(CAST(state AS BLOB)) + length(CAST(frame AS BLOB))) FROM ds_checkpoints
                 WHERE tenant = :tenant AND thread = :thread), 0)
     + coalesce((SELECT sum(length(CAST(body AS BLOB))) FROM ds_writes
                 WHERE tenant = :tenant AND thread = :thread), 0);

-- name: namespace_find
SELECT n.ns, n.head, c.id FROM ds_namespaces n
LEFT JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.ckpt = n.head
WHERE n.tenant = :tenant AND n.thread = :thread AND n.name = :name;

-- name: namespace_add
INSERT INTO ds_namespaces (tenant, thread, ns, name, head) VALUES (:tenant, :thread, :ns, :name, NULL);

-- name: namespace_head
UPDATE ds_namespaces SET head = :head WHERE tenant = :tenant AND thread = :thread AND ns = :ns;

-- name: namespaces_rewind
UPDATE ds_namespaces
SET head = (SELECT max(c.ckpt) FROM ds_checkpoints c
            WHERE c.tenant = ds_namespaces.tenant AND c.thread = ds_namespaces.thread AND c.ns = ds_namespaces.ns
              AND c.state IS NOT NULL)
WHERE tenant = :tenant AND thread = :thread;

-- name: namespaces_of
SELECT ns, name, head FROM ds_namespaces WHERE tenant = :tenant AND thread = :thread ORDER BY ns;

-- name: branch_add
INSERT INTO ds_branches (tenant, thread, branch, parent, forked_at)
VALUES (:tenant, :thread, :branch, :parent, :forked_at);

-- name: branches_of
SELECT branch, parent, forked_at FROM ds_branches WHERE tenant = :tenant AND thread = :thread ORDER BY branch;

-- name: checkpoints_named
SELECT c.ckpt, c.id, c.parent, c.branch, c.state, c.meta, c.shape, c.graph, m.body, s.body, g.body, c.version
FROM ds_checkpoints c INDEXED BY ds_checkpoints_id
LEFT JOIN ds_items m ON m.tenant = c.tenant AND m.thread = c.thread AND m.lane = 0 AND m.pos = c.meta
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE c.tenant = :tenant AND c.thread = :thread AND c.id IN (:id, :parent) AND c.ns = :ns;

-- name: checkpoint_last
SELECT max(ckpt) FROM ds_checkpoints WHERE tenant = :tenant AND thread = :thread;

-- name: forms_find
SELECT f.digest, f.form FROM json_each(:digests) d
CROSS JOIN ds_forms f INDEXED BY ds_forms_digest ON f.tenant = :tenant AND f.digest = ds_unhex(d.value);

-- name: form_add
INSERT INTO ds_forms (tenant, digest, body) VALUES (:tenant, :digest, :body) RETURNING form;

-- name: forms_of
SELECT f.form, f.body, f.digest FROM ds_forms f
WHERE f.form IN (SELECT c.shape FROM ds_checkpoints c WHERE c.tenant = :tenant AND c.thread = :thread
                 UNION SELECT c.graph FROM ds_checkpoints c WHERE c.tenant = :tenant AND c.thread = :thread);

-- name: checkpoint_branch
SELECT branch, ckpt FROM ds_checkpoints
WHERE tenant = :tenant AND thread = :thread AND id = :id AND ns = :ns;

-- name: checkpoint_anywhere
SELECT ckpt FROM ds_checkpoints
WHERE tenant = :tenant AND thread = :thread AND id = :id AND state IS NOT NULL
ORDER BY ckpt DESC LIMIT 1;

-- name: checkpoint_add
INSERT INTO ds_checkpoints
  (tenant, thread, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
   state)
VALUES
  (:tenant, :thread, :ckpt, :ns, :id, :parent, :branch, :created_at, :source, :step, :version, :run, :meta, :shape,
   :graph, :frame, :state)
ON CONFLICT (tenant, thread, ckpt) DO UPDATE SET
  parent = excluded.parent, branch = excluded.branch, created_at = excluded.created_at, source = excluded.source,
  step = excluded.step, version = excluded.version, run = excluded.run, meta = excluded.meta,
  shape = excluded.shape, graph = excluded.graph, frame = excluded.frame, state = excluded.state;

-- name: checkpoint_announce
INSERT INTO ds_checkpoints (tenant, thread, ckpt, ns, id, branch, created_at)
VALUES (:tenant, :thread, :ckpt, :ns, :id, 0, :created_at);

-- name: checkpoint_reseat
UPDATE ds_checkpoints SET ckpt = :to WHERE tenant = :tenant AND thread = :thread AND ckpt = :ckpt;

-- name: writes_reseat
UPDATE ds_writes SET ckpt = :to WHERE tenant = :tenant AND thread = :thread AND ckpt = :ckpt;

-- name: checkpoint_head
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name
FROM ds_threads t
JOIN ds_namespaces n ON n.tenant = t.tenant AND n.thread = t.thread AND n.name = :ns
JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.ckpt = n.head
LEFT JOIN ds_checkpoints p ON p.tenant = c.tenant AND p.thread = c.thread AND p.ckpt = c.parent
LEFT JOIN ds_items m ON m.tenant = c.tenant AND m.thread = c.thread AND m.lane = 0 AND m.pos = c.meta
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = :tenant AND t.name = :name AND t.deleted_at IS NULL;

-- name: checkpoint_by_id
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name
FROM ds_threads t
JOIN ds_namespaces n ON n.tenant = t.tenant AND n.thread = t.thread AND n.name = :ns
JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.id = :id AND c.ns = n.ns
LEFT JOIN ds_checkpoints p ON p.tenant = c.tenant AND p.thread = c.thread AND p.ckpt = c.parent
LEFT JOIN ds_items m ON m.tenant = c.tenant AND m.thread = c.thread AND m.lane = 0 AND m.pos = c.meta
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = :tenant AND t.name = :name AND t.deleted_at IS NULL AND c.state IS NOT NULL;

-- name: checkpoints_page
SELECT t.thread, t.owner, c.ckpt, c.id, c.parent, c.branch, c.created_at, c.source, c.step, c.version, c.run,
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name
FROM ds_threads t
JOIN ds_checkpoints c ON c.tenant = t.tenant AND c.thread = t.thread
JOIN ds_namespaces n ON n.tenant = c.tenant AND n.thread = c.thread AND n.ns = c.ns
LEFT JOIN ds_checkpoints p ON p.tenant = c.tenant AND p.thread = c.thread AND p.ckpt = c.parent
LEFT JOIN ds_items m ON m.tenant = c.tenant AND m.thread = c.thread AND m.lane = 0 AND m.pos = c.meta
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
LEFT JOIN ds_forms g ON g.tenant = c.tenant AND g.form = c.graph
WHERE t.tenant = :tenant AND t.name = :name AND t.deleted_at IS NULL AND c.state IS NOT NULL
  AND (:ns IS NULL OR n.name = :ns) AND (:before IS NULL OR c.ckpt < :before)
ORDER BY c.ckpt DESC
LIMIT :limit;

-- name: checkpoints_lineage
WITH RECURSIVE line (ckpt, depth) AS (
  SELECT :ckpt, 0
  UNION ALL
  SELECT c.parent, line.depth + 1 FROM line
  JOIN ds_checkpoints c ON c.tenant = :tenant AND c.thread = :thread AND c.ckpt = line.ckpt
  WHERE c.parent IS NOT NULL AND line.depth < :limit
)
SELECT c.ckpt, c.parent, c.state, f.body FROM line
JOIN ds_checkpoints c ON c.tenant = :tenant AND c.thread = :thread AND c.ckpt = line.ckpt
LEFT JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
WHERE c.state IS NOT NULL
ORDER BY line.depth;

-- name: checkpoints_all
SELECT c.ckpt, c.ns, c.id, c.parent, c.branch, c.meta, c.shape, c.graph, c.frame, c.state, c.step, c.source, c.run, f.body
FROM ds_checkpoints c
LEFT JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
WHERE c.tenant = :tenant AND c.thread = :thread ORDER BY c.ckpt;

-- name: checkpoints_of_runs
SELECT t.name, c.ckpt FROM ds_checkpoints c
JOIN ds_threads t ON t.tenant = c.tenant AND t.thread = c.thread
WHERE c.tenant = :tenant AND c.run IN (SELECT value FROM json_each(:runs))
ORDER BY t.name, c.ckpt;

-- name: checkpoints_drop
DELETE FROM ds_checkpoints
WHERE tenant = :tenant AND thread = :thread AND ckpt IN (SELECT value FROM json_each(:ckpts));

-- name: checkpoints_orphan
UPDATE ds_checkpoints SET parent = NULL
WHERE tenant = :tenant AND thread = :thread AND parent IN (SELECT value FROM json_each(:ckpts));

-- name: writes_drop
DELETE FROM ds_writes
WHERE tenant = :tenant AND thread = :thread AND ckpt IN (SELECT value FROM json_each(:ckpts));

-- name: write_find
SELECT path, body FROM ds_writes WHERE tenant = :tenant AND thread = :thread AND ckpt = :ckpt AND task = :task;

-- name: write_save
INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)
VALUES (:tenant, :thread, :ckpt, :task, :path, :body)
ON CONFLICT (tenant, thread, ckpt, task) DO UPDATE SET path = excluded.path, body = excluded.body;

-- name: writes_of
SELECT ckpt, task, path, body FROM ds_writes
WHERE tenant = :tenant AND thread = :thread AND ckpt IN (SELECT value FROM json_each(:ckpts));

-- name: writes_all
SELECT ckpt, task, path, body FROM ds_writes WHERE tenant = :tenant AND thread = :thread ORDER BY ckpt, task;

-- name: pool_find
SELECT i.digest, i.pos FROM json_each(:digests) d
CROSS JOIN ds_items i INDEXED BY ds_items_digest
  ON i.tenant = :tenant AND i.thread = :thread AND i.digest = ds_unhex(d.value) AND i.digest IS NOT NULL;

-- name: lane_tails
SELECT l.value, (SELECT max(i.pos) FROM ds_items i
                 WHERE i.tenant = :tenant AND i.thread = :thread AND i.lane = l.value)
FROM json_each(:lanes) l;

-- name: item_add
INSERT INTO ds_items (tenant, thread, lane, pos, digest, body)
VALUES (:tenant, :thread, :lane, :pos, :digest, :body);

-- name: items_in
SELECT i.lane, i.pos, i.body, i.digest FROM json_each(:ranges) r
CROSS JOIN ds_items i ON i.tenant = :tenant AND i.thread = :thread AND i.lane = json_extract(r.value, '$[0]')
 AND i.pos BETWEEN json_extract(r.value, '$[1]') AND json_extract(r.value, '$[2]');

-- name: items_all
SELECT lane, pos, digest, body FROM ds_items
WHERE tenant = :tenant AND thread = :thread ORDER BY lane, pos;

-- name: item_drop
DELETE FROM ds_items WHERE tenant = :tenant AND thread = :thread AND lane = :lane AND pos BETWEEN :first AND :last;

-- name: item_blank
UPDATE ds_items SET body = 'null', digest = NULL
WHERE tenant = :tenant AND thread = :thread AND lane = :lane AND pos = :pos;

-- name: blob_add
INSERT INTO ds_blobs (tenant, digest, body) VALUES (:tenant, :digest, :body) ON CONFLICT DO NOTHING;

-- name: blob_ref_add
INSERT INTO ds_blob_refs (tenant, thread, digest) VALUES (:tenant, :thread, :digest) ON CONFLICT DO NOTHING;

-- name: blobs_in
SELECT digest, body FROM ds_blobs
WHERE tenant = :tenant AND digest IN (SELECT ds_unhex(value) FROM json_each(:digests));

-- name: blob_lock
SELECT digest FROM ds_blobs WHERE tenant = :tenant AND digest = :digest;

-- name: blob_refs_of
SELECT r.digest, b.digest IS NOT NULL FROM ds_blob_refs r
LEFT JOIN ds_blobs b ON b.tenant = r.tenant AND b.digest = r.digest
WHERE r.tenant = :tenant AND r.thread = :thread;

-- name: blob_ref_drop
DELETE FROM ds_blob_refs WHERE tenant = :tenant AND thread = :thread AND digest = :digest;

-- name: blob_drop
DELETE FROM ds_blobs WHERE tenant = :tenant AND digest = :digest
  AND NOT EXISTS (SELECT 1 FROM ds_blob_refs r WHERE r.tenant = :tenant AND r.digest = :digest);

-- name: event_add
INSERT INTO ds_events (tenant, thread, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms)
VALUES (:tenant, :thread, :seq, :kind, :author, :at, :branch, :ckpt, :mark, :lane, :pos, :terms);

-- name: events_marked
SELECT e.seq, e.kind, e.author, e.branch, e.ckpt, e.mark, e.lane, e.pos, i.body FROM json_each(:marks) m
CROSS JOIN ds_events e INDEXED BY ds_events_mark
  ON e.tenant = :tenant AND e.thread = :thread AND e.mark = m.value AND e.mark IS NOT NULL
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
ORDER BY e.seq;

-- name: events_page
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
LEFT JOIN ds_checkpoints c ON c.tenant = e.tenant AND c.thread = e.thread AND c.ckpt = e.ckpt AND c.state IS NOT NULL
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq > :after
ORDER BY e.seq
LIMIT :limit;

-- name: events_matching
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
LEFT JOIN ds_checkpoints c ON c.tenant = e.tenant AND c.thread = e.thread AND c.ckpt = e.ckpt AND c.state IS NOT NULL
WHERE e.tenant = :tenant AND e.thread = :thread
  AND (e.terms = x'0000'
       OR (instr(e.terms, :t0) AND instr(e.terms, :t1) AND instr(e.terms, :t2) AND instr(e.terms, :t3)
           AND instr(e.terms, :t4) AND instr(e.terms, :t5) AND instr(e.terms, :t6) AND instr(e.terms, :t7)))
ORDER BY e.seq DESC
LIMIT :limit;

-- name: events_all
SELECT seq, kind, author, at, branch, ckpt, mark, lane, pos, terms FROM ds_events
WHERE tenant = :tenant AND thread = :thread ORDER BY seq;

-- name: summary_add
INSERT INTO ds_summaries (tenant, thread, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts)
SELECT :tenant, :thread, coalesce(max(summary), 0) + 1,
  :branch, :ckpt, :from_seq, :to_seq, :at, :writer, :policy, :lines, :facts
FROM ds_summaries WHERE tenant = :tenant AND thread = :thread;

-- name: summaries_all
SELECT summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts FROM ds_summaries
WHERE tenant = :tenant AND thread = :thread ORDER BY summary;

-- name: commit_durably
SELECT 1;

-- name: action_find
SELECT key, name, kind, scope, anchor, recipient, arguments, state, version, attempts, fence, holder, lease_until, approval,
       result, error, created_at, updated_at, started_at, ended_at
FROM ds_actions WHERE tenant = :tenant AND thread = :thread AND key = :key;

-- name: action_add
INSERT INTO ds_actions
  (tenant, thread, key, name, kind, scope, anchor, recipient, arguments, state, version, attempts, fence, created_at,
   updated_at)
VALUES
  (:tenant, :thread, :key, :name, :kind, :scope, :anchor, :recipient, :arguments, :state, :version, 0, 0, :created_at,
   :created_at);

-- name: action_save
UPDATE ds_actions
SET state = :state, version = :version, attempts = :attempts, fence = :fence, holder = :holder,
    lease_until = :lease_until, approval = :approval, result = :result, error = :error, updated_at = :updated_at,
    started_at = :started_at, ended_at = :ended_at
WHERE tenant = :tenant AND thread = :thread AND key = :key;

-- name: actions_named
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_actions a
JOIN ds_threads t ON t.tenant = a.tenant AND t.thread = a.thread
WHERE a.tenant = :tenant AND a.key >= :low AND a.key <= :high
  AND (:owner IS NULL OR t.owner = :owner)
ORDER BY a.key LIMIT 2;

-- name: actions_page
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_actions a
JOIN ds_threads t ON t.tenant = a.tenant AND t.thread = a.thread
WHERE a.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND (:thread IS NULL OR t.name = :thread)
  AND (:state IS NULL OR a.state = :state)
ORDER BY a.created_at, a.key
LIMIT :limit;

-- name: audit_add
INSERT INTO ds_audit (tenant, thread, seq, at, digest, hash, body)
VALUES (:tenant, :thread, :seq, :at, :digest, :hash, :body);

-- name: audit_head
SELECT seq, hash FROM ds_audit_heads WHERE tenant = :tenant AND thread = :thread;

-- name: audit_head_save
INSERT INTO ds_audit_heads (tenant, thread, seq, hash) VALUES (:tenant, :thread, :seq, :hash)
ON CONFLICT (tenant, thread) DO UPDATE SET seq = excluded.seq, hash = excluded.hash;

-- name: audit_heads
SELECT thread, seq, hash FROM ds_audit_heads WHERE tenant = :tenant ORDER BY thread;

-- name: audit_page
SELECT thread, seq, at, body, digest, hash FROM ds_audit
WHERE tenant = :tenant AND (thread, seq) > (:thread, :seq)
ORDER BY thread, seq
LIMIT :limit;

-- name: wipe_items
DELETE FROM ds_items WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_checkpoints
DELETE FROM ds_checkpoints WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_writes
DELETE FROM ds_writes WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_events
DELETE FROM ds_events WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_summaries
DELETE FROM ds_summaries WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_actions
DELETE FROM ds_actions WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_branches
DELETE FROM ds_branches WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_namespaces
DELETE FROM ds_namespaces WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_blob_refs
DELETE FROM ds_blob_refs WHERE tenant = :tenant AND thread = :thread;

-- name: copy_namespaces
INSERT INTO ds_namespaces (tenant, thread, ns, name, head)
SELECT tenant, :to, ns, name, head FROM ds_namespaces WHERE tenant = :tenant AND thread = :thread;

-- name: copy_branches
INSERT INTO ds_branches (tenant, thread, branch, parent, forked_at)
SELECT tenant, :to, branch, parent, forked_at FROM ds_branches WHERE tenant = :tenant AND thread = :thread;

-- name: copy_items
INSERT INTO ds_items (tenant, thread, lane, pos, digest, body)
SELECT tenant, :to, lane, pos, digest, body FROM ds_items WHERE tenant = :tenant AND thread = :thread;

-- name: copy_checkpoints
INSERT INTO ds_checkpoints
  (tenant, thread, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
   state)
SELECT tenant, :to, ckpt, ns, id, parent, branch, created_at, source, step, version, run, meta, shape, graph, frame,
       state
FROM ds_checkpoints WHERE tenant = :tenant AND thread = :thread;

-- name: copy_writes
INSERT INTO ds_writes (tenant, thread, ckpt, task, path, body)
SELECT tenant, :to, ckpt, task, path, body FROM ds_writes WHERE tenant = :tenant AND thread = :thread;

-- name: copy_events
INSERT INTO ds_events (tenant, thread, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms)
SELECT tenant, :to, seq, kind, author, at, branch, ckpt, mark, lane, pos, terms
FROM ds_events WHERE tenant = :tenant AND thread = :thread;

-- name: copy_summaries
INSERT INTO ds_summaries (tenant, thread, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts)
SELECT tenant, :to, summary, branch, ckpt, from_seq, to_seq, at, writer, policy, lines, facts
FROM ds_summaries WHERE tenant = :tenant AND thread = :thread;

-- name: copy_blob_refs
INSERT INTO ds_blob_refs (tenant, thread, digest)
SELECT tenant, :to, digest FROM ds_blob_refs WHERE tenant = :tenant AND thread = :thread;

-- name: head_branch
SELECT c.branch, c.ckpt FROM ds_namespaces n
JOIN ds_checkpoints c ON c.tenant = n.tenant AND c.thread = n.thread AND c.ckpt = n.head
WHERE n.tenant = :tenant AND n.thread = :thread AND n.ns = 0;

-- name: thread_one
SELECT t.name, t.owner, t.created_at, t.updated_at, t.deleted_at, t.events, t.lease_holder, t.lease_until,
       (SELECT count(*) FROM ds_checkpoints c
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL)
FROM ds_threads t
WHERE t.tenant = :tenant AND t.name = :name;

-- name: leftovers
SELECT g.name, g.found FROM (
  SELECT t.name AS name,
    (SELECT count(*) FROM ds_items x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_checkpoints x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_writes x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_events x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_summaries x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_actions x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_namespaces x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_branches x WHERE x.tenant = t.tenant AND x.thread = t.thread)
    + (SELECT count(*) FROM ds_blob_refs x WHERE x.tenant = t.tenant AND x.thread = t.thread) AS found
  FROM ds_threads t
  WHERE t.tenant = :tenant AND t.deleted_at IS NOT NULL AND (:owner IS NULL OR t.owner = :owner)
) g
WHERE g.found > 0;

-- name: blobs_unused
SELECT b.digest FROM ds_blobs b
WHERE b.tenant = :tenant AND NOT EXISTS (SELECT 1 FROM ds_blob_refs r WHERE r.tenant = b.tenant AND r.digest = b.digest);

-- name: memory_clock
SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER),
       (SELECT max(m.updated_at) FROM ds_memories m WHERE m.tenant = :tenant AND m.owner = :owner);

-- name: memory_get
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.namespace = :namespace AND m.key = :key
  AND (m.expires_at IS NULL OR m.expires_at > :now);

-- name: memories_page
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared)
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND (:subject IS NULL OR m.subject = :subject)
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (:at IS NULL OR (m.valid_from <= :at AND (m.valid_to IS NULL OR m.valid_to > :at)))
  AND (m.updated_at < :before OR (m.updated_at = :before AND m.memory < :below))
ORDER BY m.updated_at DESC, m.memory DESC
LIMIT :limit;

-- name: memories_in
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM json_each(:memories) wanted
CROSS JOIN ds_memories m ON m.memory = wanted.value
WHERE m.tenant = :tenant;

-- name: memories_count
SELECT count(*), coalesce(sum(m.size), 0)
FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared)
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND (:subject IS NULL OR m.subject = :subject)
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (:at IS NULL OR (m.valid_from <= :at AND (m.valid_to IS NULL OR m.valid_to > :at))) AND m.size > 0;

-- name: memories_matching
SELECT m.memory, m.terms
FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared)
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND (:subject IS NULL OR m.subject = :subject)
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (:at IS NULL OR (m.valid_from <= :at AND (m.valid_to IS NULL OR m.valid_to > :at))) AND m.size > 0
  AND (m.terms = x'0000'
       OR instr(m.terms, :t0) > 0 OR instr(m.terms, :t1) > 0 OR instr(m.terms, :t2) > 0 OR instr(m.terms, :t3) > 0
       OR instr(m.terms, :t4) > 0 OR instr(m.terms, :t5) > 0 OR instr(m.terms, :t6) > 0 OR instr(m.terms, :t7) > 0
       OR instr(m.terms, :t8) > 0 OR instr(m.terms, :t9) > 0 OR instr(m.terms, :t10) > 0 OR instr(m.terms, :t11) > 0
       OR instr(m.terms, :t12) > 0 OR instr(m.terms, :t13) > 0 OR instr(m.terms, :t14) > 0 OR instr(m.terms, :t15) > 0
       OR instr(m.terms, :t16) > 0 OR instr(m.terms, :t17) > 0 OR instr(m.terms, :t18) > 0 OR instr(m.terms, :t19) > 0
       OR instr(m.terms, :t20) > 0 OR instr(m.terms, :t21) > 0 OR instr(m.terms, :t22) > 0 OR instr(m.terms, :t23) > 0
       OR instr(m.terms, :t24) > 0 OR instr(m.terms, :t25) > 0 OR instr(m.terms, :t26) > 0 OR instr(m.terms, :t27) > 0
       OR instr(m.terms, :t28) > 0 OR instr(m.terms, :t29) > 0 OR instr(m.terms, :t30) > 0 OR instr(m.terms, :t31) > 0)
ORDER BY m.updated_at DESC, m.memory DESC
LIMIT :limit;

-- name: memories_namespaces
SELECT DISTINCT m.namespace FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner = :owner
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now);

-- name: memory_put
INSERT INTO ds_memories AS m
  (tenant, owner, namespace, key, created_at, updated_at, expires_at, ttl, subject, attribute, valid_from, valid_to,
   unembedded, size, terms, fields, body)
VALUES
  (:tenant, :owner, :namespace, :key, :created_at, :updated_at, :expires_at, :ttl, :subject, :attribute,
   :valid_from, :valid_to, :unembedded, :size, :terms, :fields, :body)
ON CONFLICT (tenant, owner, namespace, key) DO UPDATE SET
  created_at = CASE WHEN m.expires_at <= excluded.created_at THEN excluded.created_at ELSE m.created_at END,
  updated_at = excluded.updated_at, expires_at = excluded.expires_at, ttl = excluded.ttl, subject = excluded.subject,
  attribute = excluded.attribute, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
  unembedded = excluded.unembedded, size = excluded.size, terms = excluded.terms, fields = excluded.fields,
  body = excluded.body
RETURNING memory;

-- name: memory_find
SELECT m.memory FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.namespace = :namespace AND m.key = :key;

-- name: memories_drop
DELETE FROM ds_memories AS m WHERE m.tenant = :tenant AND m.memory IN (SELECT value FROM json_each(:memories));

-- name: vectors_drop
DELETE FROM ds_vectors AS m WHERE m.tenant = :tenant AND m.memory IN (SELECT value FROM json_each(:memories));

-- name: evidence_drop
DELETE FROM ds_evidence AS m WHERE m.tenant = :tenant AND m.memory IN (SELECT value FROM json_each(:memories));

-- name: memories_expired
SELECT m.memory FROM ds_memories m
WHERE m.tenant = :tenant AND m.expires_at <= :now
ORDER BY m.expires_at
LIMIT :limit;

-- name: memories_touch
UPDATE ds_memories AS m SET expires_at = :now + m.ttl
WHERE m.tenant = :tenant AND m.ttl IS NOT NULL AND m.expires_at > :now AND m.memory IN (SELECT value FROM json_each(:memories));

-- name: vector_add
INSERT INTO ds_vectors (tenant, memory, part, vector) VALUES (:tenant, :memory, :part, ds_floats(:vector));

-- name: vectors_near
SELECT v.memory, max(ds_nearness(v.vector, :query)) AS nearness
FROM ds_memories m
JOIN ds_vectors v ON v.tenant = m.tenant AND v.memory = m.memory
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared)
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND (:subject IS NULL OR m.subject = :subject)
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (:at IS NULL OR (m.valid_from <= :at AND (m.valid_to IS NULL OR m.valid_to > :at)))
GROUP BY v.memory
ORDER BY nearness DESC, v.memory DESC
LIMIT :limit;

-- name: vectors_near_indexed
SELECT v.memory, max(ds_nearness(v.vector, :query)) AS nearness
FROM ds_memories m
JOIN ds_vectors v ON v.tenant = m.tenant AND v.memory = m.memory
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared)
  AND (m.namespace = :exact OR (m.namespace >= :low AND m.namespace < :high))
  AND (m.expires_at IS NULL OR m.expires_at > :now)
  AND (:subject IS NULL OR m.subject = :subject)
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (:at IS NULL OR (m.valid_from <= :at AND (m.valid_to IS NULL OR m.valid_to > :at)))
GROUP BY v.memory
ORDER BY nearness DESC, v.memory DESC
LIMIT :limit;

-- name: vector_extension
SELECT 0;

-- name: embedder_get
SELECT name, dims FROM ds_embedders WHERE tenant = :tenant;

-- name: embedder_set
INSERT INTO ds_embedders (tenant, name, dims) VALUES (:tenant, :name, :dims)
ON CONFLICT (tenant) DO UPDATE SET name = excluded.name, dims = excluded.dims;

-- name: embedder_add
INSERT INTO ds_embedders (tenant, name, dims) VALUES (:tenant, :name, :dims)
ON CONFLICT (tenant) DO NOTHING;

-- name: vectors_wipe
DELETE FROM ds_vectors WHERE tenant = :tenant;

-- name: memories_unembed
UPDATE ds_memories SET unembedded = 1 WHERE tenant = :tenant AND size > 0;

-- name: memories_unembedded
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = :tenant AND m.unembedded = 1 AND m.memory > :after
ORDER BY m.memory
LIMIT :limit;

-- name: memory_embedded
UPDATE ds_memories SET unembedded = 0
WHERE tenant = :tenant AND memory = :memory AND updated_at = :updated_at
RETURNING memory;

-- name: memories_all
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body, m.size, m.terms
FROM ds_memories m
WHERE m.tenant = :tenant AND (:owner IS NULL OR m.owner = :owner) AND m.memory > :after
ORDER BY m.memory
LIMIT :limit;

-- name: vectors_loose
SELECT v.memory, v.part, length(v.vector) / 4, e.dims, m.memory FROM ds_vectors v
LEFT JOIN ds_embedders e ON e.tenant = v.tenant
LEFT JOIN ds_memories m ON m.tenant = v.tenant AND m.memory = v.memory
WHERE v.tenant = :tenant AND (m.memory IS NULL OR e.dims IS NULL OR length(v.vector) <> 4 * e.dims);

-- name: evidence_loose
SELECT e.memory, e.thread, e.seq, m.memory, t.thread FROM ds_evidence e
LEFT JOIN ds_memories m ON m.tenant = e.tenant AND m.memory = e.memory
LEFT JOIN ds_threads t ON t.tenant = e.tenant AND t.thread = e.thread
WHERE e.tenant = :tenant AND (m.memory IS NULL OR t.thread IS NULL);

-- name: fact_lock
SELECT 1 WHERE :matter IS NOT NULL;

-- name: facts_of
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = :tenant AND m.owner IN (:owner, :shared) AND m.subject = :subject
  AND (:attribute IS NULL OR m.attribute = :attribute)
  AND (m.expires_at IS NULL OR m.expires_at > :now)
ORDER BY m.valid_from, m.memory;

-- name: fact_close
UPDATE ds_memories SET valid_to = :valid_to, updated_at = :updated_at
WHERE tenant = :tenant AND memory = :memory;

-- name: evidence_add
INSERT INTO ds_evidence (tenant, memory, thread, seq, author)
VALUES (:tenant, :memory, :thread, :seq, :author)
ON CONFLICT (tenant, memory, thread, seq) DO NOTHING;

-- name: evidence_of
SELECT m.memory, t.name, m.seq, m.author, t.deleted_at FROM ds_evidence m
JOIN ds_threads t ON t.tenant = m.tenant AND t.thread = m.thread
WHERE m.tenant = :tenant AND m.memory IN (SELECT value FROM json_each(:memories))
ORDER BY m.memory, t.name, m.seq;

-- name: evidence_of_thread
SELECT e.memory, (SELECT count(*) FROM ds_evidence o
                  WHERE o.tenant = e.tenant AND o.memory = e.memory AND o.thread <> e.thread)
FROM ds_evidence e
WHERE e.tenant = :tenant AND e.thread = :thread
GROUP BY e.tenant, e.memory, e.thread
ORDER BY e.memory;

-- name: evidence_drop_thread
DELETE FROM ds_evidence WHERE tenant = :tenant AND thread = :thread;

-- name: memories_of_owner
SELECT m.memory FROM ds_memories m WHERE m.tenant = :tenant AND m.owner = :owner ORDER BY m.memory;

-- name: evidence_events
SELECT e.seq, e.kind, e.author, e.at, i.body FROM ds_events e
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq IN (SELECT value FROM json_each(:seqs))
ORDER BY e.seq;

-- name: fact_named
SELECT m.memory, m.owner, m.namespace, m.key, m.created_at, m.updated_at, m.ttl, m.subject,
       m.attribute, m.valid_from, m.valid_to, m.fields, m.body
FROM ds_memories m
WHERE m.tenant = :tenant AND m.key = :key AND m.subject IS NOT NULL
  AND (m.expires_at IS NULL OR m.expires_at > CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER))
LIMIT 1;
