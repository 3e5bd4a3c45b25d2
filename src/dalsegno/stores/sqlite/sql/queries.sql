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
       lease_until, stands, CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)
FROM ds_threads WHERE tenant = :tenant AND name = :name;

-- name: thread_find
SELECT thread, owner, deleted_at, events, wiped, pool, lanes, checkpoints, branches, namespaces, fence, lease_holder,
       lease_until, stands, CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER)
FROM ds_threads WHERE tenant = :tenant AND name = :name;

-- name: thread_save
UPDATE ds_threads
SET events = :events, wiped = :wiped, pool = :pool, lanes = :lanes, checkpoints = :checkpoints, branches = :branches,
    namespaces = :namespaces, stands = :stands, updated_at = :now
WHERE tenant = :tenant AND thread = :thread;

-- name: thread_tombstone
UPDATE ds_threads
SET deleted_at = :now, updated_at = :now, lease_holder = NULL, lease_until = NULL, stands = 0
WHERE tenant = :tenant AND thread = :thread;

-- name: thread_reopen
UPDATE ds_threads SET deleted_at = NULL, updated_at = :now WHERE tenant = :tenant AND thread = :thread;

-- name: thread_lease
UPDATE ds_threads SET fence = :fence, lease_holder = :holder, lease_until = :until
WHERE tenant = :tenant AND thread = :thread;

-- name: threads_page
SELECT t.name, t.owner, t.created_at, t.updated_at, t.deleted_at, t.events, t.lease_holder, t.lease_until,
       (SELECT count(*) FROM ds_checkpoints c
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL),
       (SELECT json_group_array(g.tag) FROM ds_tags g WHERE g.tenant = t.tenant AND g.thread = t.thread)
FROM ds_threads t
WHERE t.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND (:deleted OR t.deleted_at IS NULL)
  AND (:after IS NULL OR t.name > :after)
  AND (:tag IS NULL OR EXISTS (
    SELECT 1 FROM ds_tags g WHERE g.tenant = t.tenant AND g.thread = t.thread AND g.tag = :tag))
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
SELECT c.ckpt, c.id, c.parent, c.branch, c.state, c.meta, m.body, s.body, s.digest, c.version
FROM ds_checkpoints c INDEXED BY ds_checkpoints_id
LEFT JOIN ds_items m ON m.tenant = c.tenant AND m.thread = c.thread AND m.lane = 0 AND m.pos = c.meta
LEFT JOIN ds_forms s ON s.tenant = c.tenant AND s.form = c.shape
WHERE c.tenant = :tenant AND c.thread = :thread AND c.id IN (:id, :parent) AND c.ns = :ns
UNION ALL
SELECT NULL, f.digest, f.form, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM json_each(:digests) d
CROSS JOIN ds_forms f INDEXED BY ds_forms_digest ON f.tenant = :tenant AND f.digest = ds_unhex(d.value);

-- name: checkpoint_last
SELECT max(ckpt) FROM ds_checkpoints WHERE tenant = :tenant AND thread = :thread;

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
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
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
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
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
       c.frame, c.state, m.body, s.body, p.id, p.frame, n.head, c.meta, c.shape, g.body, n.ns, n.name, t.name, s.digest
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
SELECT c.ckpt, c.parent, c.state, f.body, f.digest FROM line
JOIN ds_checkpoints c ON c.tenant = :tenant AND c.thread = :thread AND c.ckpt = line.ckpt
LEFT JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
WHERE c.state IS NOT NULL
ORDER BY line.depth;

-- name: checkpoints_all
SELECT c.ckpt, c.ns, c.id, c.parent, c.branch, c.meta, c.shape, c.graph, c.frame, c.state, c.step, c.source, c.run, f.body,
       f.digest
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
WHERE a.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND (:state IS NULL OR a.state = :state)
ORDER BY a.created_at, a.key
LIMIT :limit;

-- name: audit_add
INSERT INTO ds_audit (tenant, thread, seq, at, digest, hash, body)
VALUES (:tenant, :thread, :seq, :at, :digest, :hash, :body);

-- name: audit_head
SELECT seq, hash FROM ds_audit_heads WHERE tenant = :tenant AND thread = :thread;

-- name: audit_head_add
INSERT INTO ds_audit_heads (tenant, thread, seq, hash, place, link, seal)
VALUES (:tenant, :thread, :seq, :hash, :place, :link, :seal);

-- name: audit_head_save
UPDATE ds_audit_heads SET seq = :seq, hash = :hash, seal = :seal WHERE tenant = :tenant AND thread = :thread;

-- name: audit_heads
SELECT thread, seq, hash, place, link, seal FROM ds_audit_heads WHERE tenant = :tenant ORDER BY place, thread;

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
        WHERE c.tenant = t.tenant AND c.thread = t.thread AND c.state IS NOT NULL),
       (SELECT json_group_array(g.tag) FROM ds_tags g WHERE g.tenant = t.tenant AND g.thread = t.thread)
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

-- name: actions_of
SELECT t.name, a.key, a.name, a.kind, a.scope, a.anchor, a.recipient, a.arguments, a.state, a.version, a.attempts,
       a.fence, a.holder, a.lease_until, a.approval, a.result, a.error, a.created_at, a.updated_at, a.started_at, a.ended_at
FROM ds_threads t
JOIN ds_actions a ON a.tenant = t.tenant AND a.thread = t.thread
WHERE t.tenant = :tenant AND t.name = :thread AND (:owner IS NULL OR t.owner = :owner)
  AND (:state IS NULL OR a.state = :state)
ORDER BY a.created_at, a.key
LIMIT :limit;

-- name: actions_open
SELECT state, lease_until FROM ds_actions
WHERE tenant = :tenant AND thread = :thread AND state NOT IN ('succeeded', 'failed');

-- name: tag_add
INSERT INTO ds_tags (tenant, thread, tag) VALUES (:tenant, :thread, :tag) ON CONFLICT DO NOTHING;

-- name: tag_drop
DELETE FROM ds_tags WHERE tenant = :tenant AND thread = :thread AND tag = :tag;

-- name: tags_of
SELECT tag FROM ds_tags WHERE tenant = :tenant AND thread = :thread ORDER BY tag;

-- name: wipe_tags
DELETE FROM ds_tags WHERE tenant = :tenant AND thread = :thread;

-- name: copy_tags
INSERT INTO ds_tags (tenant, thread, tag) SELECT tenant, :to, tag FROM ds_tags WHERE tenant = :tenant AND thread = :thread;

-- name: retention_page
SELECT t.name FROM ds_threads t
WHERE t.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND t.deleted_at IS NULL
  AND (:after IS NULL OR t.name > :after)
ORDER BY t.name
LIMIT :limit;

-- name: thread_stands
UPDATE ds_threads SET stands = :stands WHERE tenant = :tenant AND thread = :thread;

-- name: runs_due
-- Runs to go on with: their lease ran out, or a new attempt is due, or (only where asked for) nothing has moved for long.
SELECT t.name, t.thread, t.stands, t.fence, t.lease_until, t.updated_at, t.checkpoints
FROM (
  SELECT thread FROM (
    SELECT d.thread FROM ds_threads d
    WHERE d.tenant = :tenant AND d.lease_until <= :now AND (:owner IS NULL OR d.owner = :owner)
    ORDER BY d.lease_until LIMIT :reach
  ) c1
  UNION
  SELECT thread FROM (
    SELECT r.thread FROM ds_runs r
    WHERE r.tenant = :tenant AND r.due <= :now
    ORDER BY r.due LIMIT :reach
  ) c2
  UNION
  SELECT thread FROM (
    SELECT i.thread FROM ds_threads i
    WHERE i.tenant = :tenant AND i.stands = 1 AND i.stands <> 0 AND i.lease_until IS NULL AND i.updated_at <= :idle
      AND (:owner IS NULL OR i.owner = :owner)
    ORDER BY i.name LIMIT :reach
  ) c3
) c
CROSS JOIN ds_threads t ON t.tenant = :tenant AND t.thread = c.thread
WHERE t.deleted_at IS NULL AND (:owner IS NULL OR t.owner = :owner)
  AND (t.lease_until IS NULL OR t.lease_until <= :now)
ORDER BY coalesce(t.lease_until, t.updated_at), t.thread
LIMIT :limit;

-- name: run_find
SELECT attempts, failures, deaths, taken_at, fingerprint, error, place, failed_at, parked_at, due
FROM ds_runs WHERE tenant = :tenant AND thread = :thread;

-- name: run_save
INSERT INTO ds_runs (tenant, thread, attempts, failures, deaths, taken_at, fingerprint, error, place, failed_at, parked_at, due)
VALUES (:tenant, :thread, :attempts, :failures, :deaths, :taken_at, :fingerprint, :error, :place, :failed_at, :parked_at, :due)
ON CONFLICT (tenant, thread) DO UPDATE
SET attempts = excluded.attempts, failures = excluded.failures, deaths = excluded.deaths,
    taken_at = excluded.taken_at, fingerprint = excluded.fingerprint,
    error = excluded.error, place = excluded.place, failed_at = excluded.failed_at, parked_at = excluded.parked_at,
    due = excluded.due;

-- name: run_taken
UPDATE ds_runs SET due = NULL WHERE tenant = :tenant AND thread = :thread;

-- name: wipe_runs
DELETE FROM ds_runs WHERE tenant = :tenant AND thread = :thread;

-- name: runs_one
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.name = :name AND t.deleted_at IS NULL;

-- name: runs_page
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.deleted_at IS NULL AND t.checkpoints > 0 AND (:owner IS NULL OR t.owner = :owner)
  AND (:after IS NULL OR t.name > :after)
ORDER BY t.name
LIMIT :limit;

-- name: retention_count
SELECT count(*) FROM ds_threads t
WHERE t.tenant = :tenant AND (:owner IS NULL OR t.owner = :owner) AND t.deleted_at IS NULL;

-- name: thread_used
SELECT updated_at FROM ds_threads WHERE tenant = :tenant AND thread = :thread;

-- name: head_writes
SELECT count(*) FROM ds_namespaces n
JOIN ds_writes w ON w.tenant = n.tenant AND w.thread = n.thread AND w.ckpt = n.head
WHERE n.tenant = :tenant AND n.thread = :thread AND n.ns = 0;

-- name: checkpoint_facts
SELECT ckpt, ns, id, branch, created_at, state IS NOT NULL FROM ds_checkpoints
WHERE tenant = :tenant AND thread = :thread ORDER BY ckpt;

-- name: blobs_alone
SELECT r.digest, length(CAST(b.body AS BLOB)) FROM ds_blob_refs r
JOIN ds_blobs b ON b.tenant = r.tenant AND b.digest = r.digest
WHERE r.tenant = :tenant AND r.thread = :thread
  AND NOT EXISTS (SELECT 1 FROM ds_blob_refs o
                  WHERE o.tenant = r.tenant AND o.digest = r.digest AND o.thread <> r.thread);

-- name: thread_sizes
SELECT 'ds_items', count(*), coalesce(sum(length(CAST(body AS BLOB)) + coalesce(length(digest), 0)), 0)
FROM ds_items WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_checkpoints', count(*),
       coalesce(sum(coalesce(length(CAST(state AS BLOB)), 0) + coalesce(length(CAST(frame AS BLOB)), 0)), 0)
FROM ds_checkpoints WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_writes', count(*), coalesce(sum(length(CAST(body AS BLOB)) + length(CAST(path AS BLOB))), 0)
FROM ds_writes WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_events', count(*), coalesce(sum(length(terms) + length(CAST(author AS BLOB))), 0)
FROM ds_events WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_summaries', count(*),
       coalesce(sum(length(CAST(policy AS BLOB)) + length(CAST(lines AS BLOB)) + length(CAST(facts AS BLOB))), 0)
FROM ds_summaries WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_manifests', count(*), coalesce(sum(length(CAST(body AS BLOB)) + length(CAST(node AS BLOB))), 0)
FROM ds_manifests WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_spending', count(*), coalesce(sum(length(CAST(run AS BLOB))), 0)
FROM ds_spending WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_cards', count(*), coalesce(sum(length(CAST(body AS BLOB))), 0)
FROM ds_cards WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_runs', count(*),
       coalesce(sum(coalesce(length(CAST(error AS BLOB)), 0) + coalesce(length(CAST(place AS BLOB)), 0)), 0)
FROM ds_runs WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_actions', count(*),
       coalesce(sum(length(CAST(arguments AS BLOB)) + coalesce(length(CAST(recipient AS BLOB)), 0)
                    + coalesce(length(CAST(result AS BLOB)), 0) + coalesce(length(CAST(error AS BLOB)), 0)
                    + coalesce(length(CAST(approval AS BLOB)), 0)), 0)
FROM ds_actions WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_namespaces', count(*), coalesce(sum(length(CAST(name AS BLOB))), 0)
FROM ds_namespaces WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_branches', count(*), 0 FROM ds_branches WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_tags', count(*), coalesce(sum(length(CAST(tag AS BLOB))), 0)
FROM ds_tags WHERE tenant = :tenant AND thread = :thread
UNION ALL
SELECT 'ds_blob_refs', count(*), coalesce(sum(length(digest)), 0)
FROM ds_blob_refs WHERE tenant = :tenant AND thread = :thread;

-- name: audit_size
SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0) FROM ds_audit
WHERE tenant = :tenant AND thread = :thread AND body IS NOT NULL;

-- name: audit_erase
UPDATE ds_audit SET body = NULL WHERE tenant = :tenant AND thread = :thread;

-- name: audit_all
SELECT seq, body FROM ds_audit WHERE tenant = :tenant AND thread = :thread ORDER BY seq;

-- name: audit_root_begin
INSERT INTO ds_audit_roots (tenant, chains, hash) VALUES (:tenant, 0, NULL) ON CONFLICT DO NOTHING;

-- name: audit_root_lock
SELECT chains, hash, seal FROM ds_audit_roots WHERE tenant = :tenant;

-- name: audit_root
SELECT chains, hash, seal FROM ds_audit_roots WHERE tenant = :tenant;

-- name: audit_root_save
UPDATE ds_audit_roots SET chains = :chains, hash = :hash, seal = :seal WHERE tenant = :tenant;

-- name: forms_unused
SELECT form FROM ds_forms WHERE tenant = :tenant
EXCEPT
SELECT shape FROM ds_checkpoints WHERE tenant = :tenant
EXCEPT
SELECT graph FROM ds_checkpoints WHERE tenant = :tenant;

-- name: form_lock
SELECT form FROM ds_forms WHERE tenant = :tenant AND form = :form;

-- name: form_drop
DELETE FROM ds_forms WHERE tenant = :tenant AND form = :form
  AND NOT EXISTS (SELECT 1 FROM ds_checkpoints c WHERE c.tenant = :tenant AND (c.shape = :form OR c.graph = :form));

-- name: thread_erase
UPDATE ds_threads
SET name = :pseudonym, owner = NULL, deleted_at = coalesce(deleted_at, :now), updated_at = :now, wiped = events,
    lease_holder = NULL, stands = 0, lease_until = NULL
WHERE tenant = :tenant AND thread = :thread;

-- name: owned_threads
SELECT name FROM ds_threads WHERE tenant = :tenant AND owner = :owner ORDER BY name;

-- name: erasure_add
INSERT INTO ds_erasures (tenant, thread, at, salt, digest, closed_until, rewritten_at)
VALUES (:tenant, :thread, :at, :salt, :digest, :closed_until, NULL);

-- name: erasure_of
SELECT at FROM ds_erasures WHERE tenant = :tenant AND thread = :thread;

-- name: erasures_due
SELECT thread FROM ds_erasures WHERE tenant = :tenant AND rewritten_at IS NULL ORDER BY thread;

-- name: erasure_rewritten
UPDATE ds_erasures SET rewritten_at = :at WHERE tenant = :tenant AND thread = :thread;

-- name: erasure_salts
SELECT DISTINCT salt FROM ds_erasures WHERE tenant = :tenant AND digest IS NOT NULL AND closed_until > :now;

-- name: erasure_find
SELECT thread, closed_until FROM ds_erasures WHERE tenant = :tenant AND digest = :digest AND closed_until > :now;

-- name: erasure_release
UPDATE ds_erasures SET salt = NULL, digest = NULL, closed_until = NULL WHERE tenant = :tenant AND digest = :digest;

-- name: erasures_forget
UPDATE ds_erasures SET salt = NULL, digest = NULL, closed_until = NULL
WHERE tenant = :tenant AND digest IS NOT NULL AND closed_until <= :now;
-- name: runs_finished
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.deleted_at IS NULL AND t.checkpoints > 0 AND (:owner IS NULL OR t.owner = :owner)
  AND (:after IS NULL OR t.name > :after) AND t.stands = 0 AND (t.lease_until IS NULL OR t.lease_until <= :now)
ORDER BY t.name
LIMIT :limit;

-- name: runs_leased
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.deleted_at IS NULL AND (:owner IS NULL OR t.owner = :owner)
  AND (:after IS NULL OR t.name > :after) AND t.lease_until > :now
ORDER BY t.name
LIMIT :limit;

-- name: runs_left
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.deleted_at IS NULL AND (:owner IS NULL OR t.owner = :owner)
  AND (:after IS NULL OR t.name > :after) AND t.lease_until <= :now AND t.stands = 1
ORDER BY t.name
LIMIT :limit;

-- name: runs_standing
SELECT t.name, t.owner, t.updated_at, t.stands, t.lease_holder, t.lease_until, r.attempts, r.error, r.place, r.failed_at,
       r.parked_at, r.due
FROM ds_threads t
LEFT JOIN ds_runs r ON r.tenant = t.tenant AND r.thread = t.thread
WHERE t.tenant = :tenant AND t.deleted_at IS NULL AND (:owner IS NULL OR t.owner = :owner)
  AND (:after IS NULL OR t.name > :after) AND t.stands = :stands AND t.stands <> 0
  AND (t.lease_until IS NULL OR (t.lease_until <= :now AND t.stands > 1))
ORDER BY t.name
LIMIT :limit;
-- name: manifest_add
INSERT INTO ds_manifests (tenant, thread, manifest, at, step, checkpoint, ns, task, node, body)
SELECT :tenant, :thread, coalesce(max(manifest), 0) + 1, :at, :step, :checkpoint, :ns, :task, :node, :body
FROM ds_manifests WHERE tenant = :tenant AND thread = :thread;

-- name: manifests_page
SELECT manifest, at, step, checkpoint, ns, task, node, body FROM ds_manifests
WHERE tenant = :tenant AND thread = :thread AND manifest > :after ORDER BY manifest LIMIT :limit;

-- name: wipe_manifests
DELETE FROM ds_manifests WHERE tenant = :tenant AND thread = :thread;

-- name: copy_manifests
INSERT INTO ds_manifests (tenant, thread, manifest, at, step, checkpoint, ns, task, node, body)
SELECT tenant, :to, manifest, at, step, checkpoint, ns, task, node, body
FROM ds_manifests WHERE tenant = :tenant AND thread = :thread;

-- name: spending_add
INSERT INTO ds_spending (tenant, thread, run, at, calls, input_tokens, output_tokens, steps, micros, nanos)
VALUES (:tenant, :thread, :run, :at, :calls, :input_tokens, :output_tokens, :steps, :micros, :nanos)
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
WHERE tenant = :tenant AND thread = :thread AND run = :run;

-- name: spending_all
SELECT run, at, calls, input_tokens, output_tokens, steps, micros, nanos FROM ds_spending
WHERE tenant = :tenant AND thread = :thread ORDER BY at, run;

-- name: wipe_spending
DELETE FROM ds_spending WHERE tenant = :tenant AND thread = :thread;

-- The doctor's questions.

-- name: threads_beside
SELECT t.thread, t.name, t.created_at, t.updated_at, t.events - t.wiped FROM ds_threads t INDEXED BY ds_threads_born
WHERE t.tenant = :tenant AND t.created_at BETWEEN :first AND :last AND t.name <> :name AND t.owner IS :owner
  AND t.deleted_at IS NULL
ORDER BY t.created_at
LIMIT :limit;

-- name: openings
SELECT e.thread, i.body FROM json_each(:threads) w
CROSS JOIN ds_threads t ON t.thread = w.value AND t.tenant = :tenant
CROSS JOIN ds_events e ON e.tenant = t.tenant AND e.thread = t.thread AND e.seq > t.wiped AND e.seq <= t.wiped + :events
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
ORDER BY e.thread, e.seq;

-- name: summaries_count
SELECT count(*) FROM ds_summaries WHERE tenant = :tenant AND thread = :thread;

-- name: cards_of
SELECT branch, cursor, version, forgotten, at, body FROM ds_cards
WHERE tenant = :tenant AND thread = :thread AND branch IN (SELECT value FROM json_each(:branches));

-- name: card_save
INSERT INTO ds_cards (tenant, thread, branch, cursor, version, forgotten, at, body)
VALUES (:tenant, :thread, :branch, :cursor, :version, :forgotten, :at, :body)
ON CONFLICT (tenant, thread, branch) DO UPDATE SET
  cursor = excluded.cursor, version = excluded.version, forgotten = excluded.forgotten, at = excluded.at,
  body = excluded.body;

-- name: cards_all
SELECT branch, cursor, version, forgotten, at, body FROM ds_cards
WHERE tenant = :tenant AND thread = :thread ORDER BY branch;

-- name: wipe_cards
DELETE FROM ds_cards WHERE tenant = :tenant AND thread = :thread;

-- name: copy_cards
INSERT INTO ds_cards (tenant, thread, branch, cursor, version, forgotten, at, body)
SELECT tenant, :to, branch, cursor, version, forgotten, at, body
FROM ds_cards WHERE tenant = :tenant AND thread = :thread;

-- name: events_counted
SELECT count(*) FROM ds_events WHERE tenant = :tenant AND thread = :thread AND seq > :after;

-- name: events_numbers
SELECT seq FROM ds_events WHERE tenant = :tenant AND thread = :thread AND seq > :after ORDER BY seq;

-- name: events_begin
SELECT min(seq) FROM ds_events WHERE tenant = :tenant AND thread = :thread AND branch IN (SELECT value FROM json_each(:branches));

-- name: actions_latest
SELECT key, name, kind, recipient, arguments, state, attempts, lease_until, approval, error, created_at, updated_at,
       ended_at
FROM ds_actions
WHERE tenant = :tenant AND thread = :thread
ORDER BY CASE WHEN state IN ('succeeded', 'failed') THEN 1 ELSE 0 END, updated_at DESC, key
LIMIT :limit;

-- name: actions_counted
SELECT state, count(*) FROM ds_actions WHERE tenant = :tenant AND thread = :thread GROUP BY state;

-- name: events_counted_in
SELECT count(*) FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq > :after;

-- name: events_after
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, NULL, NULL, i.body, e.lane, e.pos FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq > :after
ORDER BY e.seq
LIMIT :limit;

-- name: events_last
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, NULL, NULL, i.body, e.lane, e.pos FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq <= :before
ORDER BY e.seq DESC
LIMIT :limit;

-- name: events_numbered
SELECT e.seq, e.kind, e.author, e.at, e.branch, e.ckpt, c.id, c.frame, i.body, e.lane, e.pos FROM ds_events e
JOIN json_each(:spans) s ON e.branch = json_extract(s.value, '$[0]')
 AND coalesce(e.ckpt, 0) <= json_extract(s.value, '$[1]')
LEFT JOIN ds_items i ON i.tenant = e.tenant AND i.thread = e.thread AND i.lane = e.lane AND i.pos = e.pos
LEFT JOIN ds_checkpoints c ON c.tenant = e.tenant AND c.thread = e.thread AND c.ckpt = e.ckpt AND c.state IS NOT NULL
WHERE e.tenant = :tenant AND e.thread = :thread AND e.seq IN (SELECT value FROM json_each(:numbers))
ORDER BY e.seq;

-- The answer cache.

-- name: answers_keyed
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = :tenant AND a.owner IN (:owner, :shared) AND a.scope = :scope
  AND (a.expires_at IS NULL OR a.expires_at > :now) AND a.key = :key
ORDER BY a.owner DESC;

-- name: answers_matching
SELECT a.answer, a.terms
FROM ds_answers a
WHERE a.tenant = :tenant AND a.owner IN (:owner, :shared) AND a.scope = :scope
  AND (a.expires_at IS NULL OR a.expires_at > :now)
  AND (a.terms = x'0000'
       OR instr(a.terms, :t0) > 0 OR instr(a.terms, :t1) > 0 OR instr(a.terms, :t2) > 0 OR instr(a.terms, :t3) > 0
       OR instr(a.terms, :t4) > 0 OR instr(a.terms, :t5) > 0 OR instr(a.terms, :t6) > 0 OR instr(a.terms, :t7) > 0
       OR instr(a.terms, :t8) > 0 OR instr(a.terms, :t9) > 0 OR instr(a.terms, :t10) > 0 OR instr(a.terms, :t11) > 0
       OR instr(a.terms, :t12) > 0 OR instr(a.terms, :t13) > 0 OR instr(a.terms, :t14) > 0 OR instr(a.terms, :t15) > 0
       OR instr(a.terms, :t16) > 0 OR instr(a.terms, :t17) > 0 OR instr(a.terms, :t18) > 0 OR instr(a.terms, :t19) > 0
       OR instr(a.terms, :t20) > 0 OR instr(a.terms, :t21) > 0 OR instr(a.terms, :t22) > 0 OR instr(a.terms, :t23) > 0
       OR instr(a.terms, :t24) > 0 OR instr(a.terms, :t25) > 0 OR instr(a.terms, :t26) > 0 OR instr(a.terms, :t27) > 0
       OR instr(a.terms, :t28) > 0 OR instr(a.terms, :t29) > 0 OR instr(a.terms, :t30) > 0 OR instr(a.terms, :t31) > 0)
ORDER BY a.stored_at DESC, a.answer DESC
LIMIT :limit;

-- name: answers_near
SELECT a.answer, ds_nearness(a.vector, :query) AS nearness
FROM ds_answers a
WHERE a.tenant = :tenant AND a.owner IN (:owner, :shared) AND a.scope = :scope
  AND (a.expires_at IS NULL OR a.expires_at > :now) AND a.calibration = :calibration
ORDER BY nearness DESC, a.answer DESC
LIMIT :limit;

-- name: answers_near_indexed
SELECT a.answer, ds_nearness(a.vector, :query) AS nearness
FROM ds_answers a
WHERE a.tenant = :tenant AND a.owner IN (:owner, :shared) AND a.scope = :scope
  AND (a.expires_at IS NULL OR a.expires_at > :now) AND a.calibration = :calibration
ORDER BY nearness DESC, a.answer DESC
LIMIT :limit;

-- name: answer_nearness
SELECT ds_nearness(a.vector, :query) FROM ds_answers a
WHERE a.tenant = :tenant AND a.answer = :answer AND a.vector IS NOT NULL;

-- name: answers_in
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers))
ORDER BY a.answer;

-- name: answers_all
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body, a.terms
FROM ds_answers a
WHERE a.tenant = :tenant AND (:owner IS NULL OR a.owner IN (:owner, ''))
  AND (:scope IS NULL OR a.scope = :scope) AND a.answer > :after
ORDER BY a.answer
LIMIT :limit;

-- name: answers_named
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = :tenant AND a.id = :id AND (:owner IS NULL OR a.owner IN (:owner, ''));

-- name: answers_asked
SELECT a.answer, a.owner, a.scope, a.key, a.id, a.author, a.said_in, a.stored_at, a.expires_at, a.calibration,
       a.body
FROM ds_answers a
WHERE a.tenant = :tenant AND a.key = :key AND (:owner IS NULL OR a.owner IN (:owner, ''))
  AND (:scope IS NULL OR a.scope = :scope)
ORDER BY a.answer;

-- name: answer_put
INSERT INTO ds_answers AS a
  (tenant, owner, scope, key, id, author, said_in, stored_at, expires_at, calibration, vector, terms, body)
VALUES
  (:tenant, :owner, :scope, :key, :id, :author, :thread, :stored_at, :expires_at, :calibration,
   CASE WHEN :vector IS NULL THEN NULL ELSE ds_floats(:vector) END, :terms, :body)
ON CONFLICT (tenant, owner, scope, key) DO UPDATE SET
  author = excluded.author, said_in = excluded.said_in, stored_at = excluded.stored_at, expires_at = excluded.expires_at,
  calibration = excluded.calibration, vector = excluded.vector, terms = excluded.terms, body = excluded.body
RETURNING answer, id;

-- name: answer_vector_set
UPDATE ds_answers SET calibration = :calibration, vector = CASE WHEN :vector IS NULL THEN NULL ELSE ds_floats(:vector) END
WHERE tenant = :tenant AND answer = :answer AND stored_at = :stored_at
RETURNING answer;

-- name: answers_drop
DELETE FROM ds_answers AS a WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers));

-- name: answer_sources_drop
DELETE FROM ds_answer_sources AS a WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers));

-- name: answer_uses_drop
DELETE FROM ds_answer_uses AS a WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers));

-- name: answer_parents_drop
DELETE FROM ds_answer_parents AS a
WHERE a.tenant = :tenant AND (a.answer IN (SELECT value FROM json_each(:answers))
   OR a.parent IN (SELECT value FROM json_each(:answers)));

-- name: answer_source_add
INSERT INTO ds_answer_sources (tenant, answer, source, version)
VALUES (:tenant, :answer, :source, :version);

-- name: answer_sources_of
SELECT a.answer, a.source, a.version FROM ds_answer_sources a
WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers))
ORDER BY a.answer, a.source;

-- name: answers_from_source
SELECT DISTINCT s.answer FROM ds_answer_sources s
JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = :tenant AND s.source = :source AND (:version IS NULL OR s.version = :version)
  AND (:owner IS NULL OR a.owner IN (:owner, ''))
ORDER BY s.answer;

-- name: answer_parent_add
INSERT INTO ds_answer_parents (tenant, parent, answer) VALUES (:tenant, :parent, :answer)
ON CONFLICT (tenant, parent, answer) DO NOTHING;

-- name: answer_parents_of
SELECT p.answer, a.id FROM ds_answer_parents p
JOIN ds_answers a ON a.tenant = p.tenant AND a.answer = p.parent
WHERE p.tenant = :tenant AND p.answer IN (SELECT value FROM json_each(:answers))
ORDER BY p.answer, p.parent;

-- name: answer_children
SELECT DISTINCT a.answer FROM ds_answer_parents a
WHERE a.tenant = :tenant AND a.parent IN (SELECT value FROM json_each(:answers))
ORDER BY a.answer;

-- name: answer_lock
SELECT a.answer FROM ds_answers a WHERE a.tenant = :tenant AND a.answer = :answer;

-- name: answer_use_add
INSERT INTO ds_answer_uses (tenant, answer, use, at, band, key, asked, owner, said_in, coordinate)
SELECT :tenant, :answer, coalesce(max(u.use), 0) + 1, :at, :band, :key, :asked,
       :owner, :thread, :coordinate
FROM ds_answer_uses u WHERE u.tenant = :tenant AND u.answer = :answer;

-- name: answer_uses_of
SELECT a.answer, a.at, a.band, a.asked, a.owner, a.said_in, a.coordinate FROM ds_answer_uses a
WHERE a.tenant = :tenant AND a.answer IN (SELECT value FROM json_each(:answers))
ORDER BY a.at DESC, a.answer, a.use DESC;

-- name: answers_lent
SELECT DISTINCT u.answer FROM ds_answer_uses u
JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = :tenant AND u.key = :key AND u.band = 'reference' AND a.scope = :scope
  AND a.owner IN (:owner, '')
ORDER BY u.answer;

-- name: answers_expired
SELECT a.answer FROM ds_answers a
WHERE a.tenant = :tenant AND a.expires_at <= :now
ORDER BY a.expires_at
LIMIT :limit;

-- name: answers_of_user
SELECT a.answer FROM ds_answers a
WHERE a.tenant = :tenant AND (a.owner = :owner OR a.author = :owner)
ORDER BY a.answer;

-- name: answers_of_thread
SELECT a.answer FROM ds_answers a WHERE a.tenant = :tenant AND a.said_in = :thread ORDER BY a.answer;

-- name: answer_uses_forget_user
DELETE FROM ds_answer_uses WHERE tenant = :tenant AND owner = :owner;

-- name: answer_uses_forget_thread
DELETE FROM ds_answer_uses WHERE tenant = :tenant AND said_in = :thread;

-- name: answer_uses_count
SELECT u.band, count(*) FROM ds_answer_uses u
JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = :tenant AND (:owner IS NULL OR a.owner IN (:owner, ''))
GROUP BY u.band;

-- name: answers_count
SELECT a.scope, count(*), coalesce(sum(length(CAST(a.body AS BLOB))), 0),
       coalesce(sum(CASE WHEN a.expires_at <= :now THEN 1 ELSE 0 END), 0),
       coalesce(sum(CASE WHEN a.calibration <> :calibration THEN 1 ELSE 0 END), 0)
FROM ds_answers a
WHERE a.tenant = :tenant AND (:owner IS NULL OR a.owner IN (:owner, ''))
GROUP BY a.scope
ORDER BY a.scope;

-- name: answer_sources_count
SELECT s.source, count(*) FROM ds_answer_sources s
JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = :tenant AND (:owner IS NULL OR a.owner IN (:owner, ''))
GROUP BY s.source
ORDER BY s.source;

-- name: answers_loose
SELECT 'source', s.answer FROM ds_answer_sources s
LEFT JOIN ds_answers a ON a.tenant = s.tenant AND a.answer = s.answer
WHERE s.tenant = :tenant AND a.answer IS NULL
UNION ALL
SELECT 'use', u.answer FROM ds_answer_uses u
LEFT JOIN ds_answers a ON a.tenant = u.tenant AND a.answer = u.answer
WHERE u.tenant = :tenant AND a.answer IS NULL
UNION ALL
SELECT 'link', p.answer FROM ds_answer_parents p
LEFT JOIN ds_answers a ON a.tenant = p.tenant AND a.answer = p.answer
LEFT JOIN ds_answers b ON b.tenant = p.tenant AND b.answer = p.parent
WHERE p.tenant = :tenant AND (a.answer IS NULL OR b.answer IS NULL)
UNION ALL
SELECT 'vector', a.answer FROM ds_answers a
LEFT JOIN ds_calibrations c ON c.tenant = a.tenant AND c.calibration = a.calibration
WHERE a.tenant = :tenant AND ((a.calibration IS NULL) <> (a.vector IS NULL)
   OR (a.vector IS NOT NULL AND (c.dims IS NULL OR length(a.vector) <> 4 * c.dims)));

-- name: calibration_add
INSERT INTO ds_calibrations (tenant, calibration, at, embedder, dims, hit, reference, body)
SELECT :tenant, coalesce(max(calibration), 0) + 1, :at, :embedder, :dims, :hit, :reference,
       :body
FROM ds_calibrations WHERE tenant = :tenant
RETURNING calibration;

-- name: calibrations_all
SELECT calibration, at, embedder, dims, hit, reference, body FROM ds_calibrations
WHERE tenant = :tenant ORDER BY calibration DESC;

-- name: part_begin
SAVEPOINT part;

-- name: part_undo
ROLLBACK TO SAVEPOINT part;

-- name: part_end
RELEASE SAVEPOINT part;
