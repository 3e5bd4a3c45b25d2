-- dalsegno, format 1, SQLite. See FORMAT.md for what each column means.
-- Times are microseconds since 1970-01-01 UTC. JSON stands in TEXT columns.

CREATE TABLE ds_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE ds_tenants (
  tenant INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE
);

CREATE TABLE ds_threads (
  thread       INTEGER PRIMARY KEY,
  tenant       INTEGER NOT NULL,
  name         TEXT    NOT NULL,
  owner        TEXT,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  deleted_at   INTEGER,
  events       INTEGER NOT NULL DEFAULT 0,
  wiped        INTEGER NOT NULL DEFAULT 0,
  pool         INTEGER NOT NULL DEFAULT 0,
  lanes        INTEGER NOT NULL DEFAULT 0,
  checkpoints  INTEGER NOT NULL DEFAULT 0,
  branches     INTEGER NOT NULL DEFAULT 0,
  namespaces   INTEGER NOT NULL DEFAULT 0,
  fence        INTEGER NOT NULL DEFAULT 0,
  lease_holder TEXT,
  lease_until  INTEGER,
  stands       INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant, name)
);

CREATE INDEX ds_threads_born ON ds_threads (tenant, created_at);

CREATE TABLE ds_namespaces (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  ns     INTEGER NOT NULL,
  name   TEXT    NOT NULL,
  head   INTEGER,
  PRIMARY KEY (tenant, thread, ns),
  UNIQUE (tenant, thread, name)
) WITHOUT ROWID;

CREATE TABLE ds_branches (
  tenant    INTEGER NOT NULL,
  thread    INTEGER NOT NULL,
  branch    INTEGER NOT NULL,
  parent    INTEGER,
  forked_at INTEGER,
  PRIMARY KEY (tenant, thread, branch)
) WITHOUT ROWID;

CREATE TABLE ds_items (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  lane   INTEGER NOT NULL,
  pos    INTEGER NOT NULL,
  digest BLOB,
  body   TEXT NOT NULL,
  PRIMARY KEY (tenant, thread, lane, pos)
);

CREATE INDEX ds_items_digest ON ds_items (tenant, thread, digest) WHERE digest IS NOT NULL;

CREATE TABLE ds_blobs (
  tenant INTEGER NOT NULL,
  digest BLOB    NOT NULL,
  body   TEXT    NOT NULL,
  PRIMARY KEY (tenant, digest)
);

CREATE TABLE ds_blob_refs (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  digest BLOB    NOT NULL,
  PRIMARY KEY (tenant, thread, digest)
) WITHOUT ROWID;

CREATE INDEX ds_blob_refs_digest ON ds_blob_refs (tenant, digest);

CREATE TABLE ds_forms (
  form   INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  digest BLOB    NOT NULL,
  body   TEXT    NOT NULL
);

CREATE INDEX ds_forms_digest ON ds_forms (tenant, digest);

CREATE TABLE ds_checkpoints (
  tenant     INTEGER NOT NULL,
  thread     INTEGER NOT NULL,
  ckpt       INTEGER NOT NULL,
  ns         INTEGER NOT NULL,
  id         BLOB    NOT NULL,
  parent     INTEGER,
  branch     INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  source     INTEGER,
  step       INTEGER,
  version    INTEGER,
  run        TEXT,
  meta       INTEGER,
  shape      INTEGER,
  graph      INTEGER,
  frame      TEXT,
  state      TEXT,
  PRIMARY KEY (tenant, thread, ckpt)
) WITHOUT ROWID;

CREATE UNIQUE INDEX ds_checkpoints_id ON ds_checkpoints (tenant, thread, id, ns);
CREATE INDEX ds_checkpoints_run ON ds_checkpoints (tenant, run) WHERE run IS NOT NULL;

CREATE TABLE ds_writes (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  ckpt   INTEGER NOT NULL,
  task   BLOB    NOT NULL,
  path   TEXT    NOT NULL,
  body   TEXT    NOT NULL,
  PRIMARY KEY (tenant, thread, ckpt, task)
) WITHOUT ROWID;

CREATE TABLE ds_events (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  kind   INTEGER NOT NULL,
  author TEXT    NOT NULL,
  at     INTEGER NOT NULL,
  branch INTEGER NOT NULL,
  ckpt   INTEGER,
  mark   INTEGER,
  lane   INTEGER NOT NULL,
  pos    INTEGER NOT NULL,
  terms  BLOB    NOT NULL,
  PRIMARY KEY (tenant, thread, seq)
) WITHOUT ROWID;

CREATE INDEX ds_events_mark ON ds_events (tenant, thread, mark) WHERE mark IS NOT NULL;

CREATE TABLE ds_summaries (
  tenant   INTEGER NOT NULL,
  thread   INTEGER NOT NULL,
  summary  INTEGER NOT NULL,
  branch   INTEGER NOT NULL,
  ckpt     INTEGER,
  from_seq INTEGER NOT NULL,
  to_seq   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  writer   TEXT    NOT NULL,
  policy   TEXT    NOT NULL,
  lines    TEXT    NOT NULL,
  facts    TEXT    NOT NULL,
  PRIMARY KEY (tenant, thread, summary)
) WITHOUT ROWID;

CREATE TABLE ds_actions (
  tenant      INTEGER NOT NULL,
  thread      INTEGER NOT NULL,
  key         BLOB    NOT NULL,
  name        TEXT    NOT NULL,
  kind        TEXT    NOT NULL,
  scope       TEXT    NOT NULL,
  anchor      TEXT,
  recipient   TEXT,
  arguments   TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  version     INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  fence       INTEGER NOT NULL,
  holder      TEXT,
  lease_until INTEGER,
  approval    TEXT,
  result      TEXT,
  error       TEXT,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  started_at  INTEGER,
  ended_at    INTEGER,
  PRIMARY KEY (tenant, thread, key)
) WITHOUT ROWID;

CREATE UNIQUE INDEX ds_actions_key ON ds_actions (tenant, key);

CREATE TABLE ds_audit (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  digest BLOB    NOT NULL,
  hash   BLOB    NOT NULL,
  body   TEXT,
  PRIMARY KEY (tenant, thread, seq)
) WITHOUT ROWID;

CREATE TABLE ds_audit_heads (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  hash   BLOB    NOT NULL,
  place  INTEGER NOT NULL,
  link   BLOB    NOT NULL,
  seal   BLOB,
  PRIMARY KEY (tenant, thread)
) WITHOUT ROWID;

CREATE TABLE ds_audit_roots (
  tenant INTEGER PRIMARY KEY,
  chains INTEGER NOT NULL,
  hash   BLOB,
  seal   BLOB
);

CREATE TABLE ds_tags (
  tenant INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  tag    TEXT    NOT NULL,
  PRIMARY KEY (tenant, thread, tag)
) WITHOUT ROWID;

CREATE INDEX ds_tags_tag ON ds_tags (tenant, tag);

CREATE TABLE ds_erasures (
  tenant       INTEGER NOT NULL,
  thread       INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  salt         BLOB,
  digest       BLOB,
  closed_until INTEGER,
  rewritten_at INTEGER,
  PRIMARY KEY (tenant, thread)
) WITHOUT ROWID;

CREATE INDEX ds_erasures_digest ON ds_erasures (tenant, digest) WHERE digest IS NOT NULL;
CREATE TABLE ds_runs (
  tenant      INTEGER NOT NULL,
  thread      INTEGER NOT NULL,
  attempts    INTEGER NOT NULL,
  failures    INTEGER NOT NULL,
  deaths      INTEGER NOT NULL,
  taken_at    INTEGER NOT NULL,
  fingerprint BLOB,
  error       TEXT,
  place       TEXT,
  failed_at   INTEGER,
  parked_at   INTEGER,
  due         INTEGER,
  PRIMARY KEY (tenant, thread)
) WITHOUT ROWID;

CREATE INDEX ds_threads_lease ON ds_threads (tenant, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX ds_threads_stands ON ds_threads (tenant, stands, name) WHERE stands <> 0;
CREATE INDEX ds_runs_due ON ds_runs (tenant, due) WHERE due IS NOT NULL;

-- Whole states for anyone with the sqlite3 shell. Strings and elements that are stored apart are put back in place.
CREATE VIEW graph_checkpoints AS
SELECT
  t.name AS thread_id,
  lower(substr(hex(c.id), 1, 8) || '-' || substr(hex(c.id), 9, 4) || '-' || substr(hex(c.id), 13, 4) || '-'
        || substr(hex(c.id), 17, 4) || '-' || substr(hex(c.id), 21)) AS checkpoint_id,
  CASE WHEN p.id IS NOT NULL THEN
    lower(substr(hex(p.id), 1, 8) || '-' || substr(hex(p.id), 9, 4) || '-' || substr(hex(p.id), 13, 4) || '-'
        || substr(hex(p.id), 17, 4) || '-' || substr(hex(p.id), 21)) END AS parent_id,
  n.name AS namespace,
  (
    -- Each round puts back the first node that is left; the elements of a list come with their own strings in place.
    -- At the top stand channels, whatever they are called.
    WITH RECURSIVE whole (round, body) AS (
      SELECT 0, (
        SELECT '{' || coalesce(group_concat(json_quote(part.name) || ':' || part.node, ','), '') || '}' FROM (
          SELECT json_extract(f.body, '$[0][' || place.value || ']') AS name, c.state -> ('$[' || place.key || ']') AS node
          FROM json_each(f.body, '$[3]') place ORDER BY place.key
        ) part)
      UNION ALL
      SELECT w.round + 1,
        (SELECT nullif(replace(w.body,
          '{"' || node.key || '":' || CASE node.type WHEN 'text' THEN json_quote(node.atom) ELSE node.value END || '}',
          CASE node.key
            WHEN '$ref' THEN
              (SELECT i.body FROM ds_items i
               WHERE i.tenant = c.tenant AND i.thread = c.thread AND i.lane = 0 AND i.pos = node.value)
            WHEN '$list' THEN
              (SELECT '[' || coalesce(group_concat(part.body, ','), '') || ']' FROM (
                SELECT CASE WHEN i.body LIKE '{"$chunk":[%' THEN substr(i.body, 12, length(i.body) - 13)
                  ELSE (
                    WITH RECURSIVE element (step, body) AS (
                      SELECT 0, i.body
                      UNION ALL
                      SELECT e.step + 1,
                        (SELECT nullif(replace(e.body, '{"$ref":' || ref.value || '}', s.body), e.body)
                         FROM json_tree(e.body) ref
                         JOIN ds_items s ON s.tenant = c.tenant AND s.thread = c.thread AND s.lane = 0
                          AND s.pos = ref.value
                         WHERE ref.key = '$ref' LIMIT 1)
                      FROM element e
                      WHERE e.body LIKE '%{"$ref":%'
                    )
                    SELECT e.body FROM element e WHERE e.body IS NOT NULL ORDER BY e.step DESC LIMIT 1
                  ) END AS body
                FROM json_each(node.value) range
                JOIN ds_items i ON i.tenant = c.tenant AND i.thread = c.thread
                 AND i.lane = json_extract(range.value, '$[0]')
                 AND i.pos BETWEEN json_extract(range.value, '$[1]') AND json_extract(range.value, '$[2]')
                ORDER BY range.key, i.pos
              ) part)
            WHEN '$dict' THEN
              (SELECT '{' || coalesce(group_concat(part.body, ','), '') || '}' FROM (
                SELECT (i.body -> '$[0]') || ':' || (i.body -> '$[1]') AS body
                FROM json_each(node.value) range
                JOIN ds_items i ON i.tenant = c.tenant AND i.thread = c.thread
                 AND i.lane = json_extract(range.value, '$[0]')
                 AND i.pos BETWEEN json_extract(range.value, '$[1]') AND json_extract(range.value, '$[2]')
                ORDER BY range.key, i.pos
              ) part)
            ELSE
              (SELECT json_quote(b.body) FROM ds_blobs b
               WHERE b.tenant = c.tenant AND lower(hex(b.digest)) = node.value)
          END), w.body)
         FROM json_tree(w.body) node
         WHERE node.key IN ('$ref', '$list', '$dict', '$blob') AND node.path <> '$' LIMIT 1)
      FROM whole w
      WHERE w.body LIKE '%{"$ref":%' OR w.body LIKE '%{"$list":%' OR w.body LIKE '%{"$dict":%'
         OR w.body LIKE '%{"$blob":%'
    )
    SELECT w.body FROM whole w WHERE w.body IS NOT NULL ORDER BY w.round DESC LIMIT 1
  ) AS state,
  strftime('%Y-%m-%dT%H:%M:%S', c.created_at / 1000000, 'unixepoch')
    || printf('.%06d+00:00', c.created_at % 1000000) AS created_at,
  x.name AS tenant
FROM ds_checkpoints c
JOIN ds_threads t ON t.thread = c.thread
JOIN ds_tenants x ON x.tenant = c.tenant
JOIN ds_namespaces n ON n.tenant = c.tenant AND n.thread = c.thread AND n.ns = c.ns
JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
LEFT JOIN ds_checkpoints p ON p.tenant = c.tenant AND p.thread = c.thread AND p.ckpt = c.parent
WHERE c.state IS NOT NULL;

CREATE TABLE ds_memories (
  memory     INTEGER PRIMARY KEY,
  tenant     INTEGER NOT NULL,
  owner      TEXT    NOT NULL,
  namespace  TEXT    NOT NULL,
  key        TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  expires_at INTEGER,
  ttl        INTEGER,
  subject    TEXT,
  attribute  TEXT,
  valid_from INTEGER,
  valid_to   INTEGER,
  unembedded INTEGER NOT NULL,
  size       INTEGER NOT NULL,
  terms      BLOB    NOT NULL,
  fields     TEXT,
  body       TEXT    NOT NULL,
  UNIQUE (tenant, owner, namespace, key)
);

CREATE INDEX ds_memories_updated ON ds_memories (tenant, owner, updated_at);
CREATE INDEX ds_memories_fact ON ds_memories (tenant, owner, subject, attribute) WHERE subject IS NOT NULL;
CREATE INDEX ds_memories_named ON ds_memories (tenant, key) WHERE subject IS NOT NULL;
CREATE INDEX ds_memories_expiry ON ds_memories (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX ds_memories_unembedded ON ds_memories (tenant, memory) WHERE unembedded = 1;

CREATE TABLE ds_evidence (
  tenant INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  thread INTEGER NOT NULL,
  seq    INTEGER NOT NULL,
  author TEXT    NOT NULL,
  PRIMARY KEY (tenant, memory, thread, seq)
) WITHOUT ROWID;

CREATE INDEX ds_evidence_thread ON ds_evidence (tenant, thread);

CREATE TABLE ds_vectors (
  tenant INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  part   INTEGER NOT NULL,
  vector BLOB    NOT NULL,
  PRIMARY KEY (tenant, memory, part)
) WITHOUT ROWID;

CREATE TABLE ds_embedders (
  tenant INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL,
  dims   INTEGER NOT NULL
);

CREATE TABLE ds_manifests (
  tenant     INTEGER NOT NULL,
  thread     INTEGER NOT NULL,
  manifest   INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  step       INTEGER NOT NULL,
  checkpoint TEXT,
  ns         TEXT    NOT NULL,
  task       TEXT,
  node       TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  PRIMARY KEY (tenant, thread, manifest)
) WITHOUT ROWID;

CREATE TABLE ds_spending (
  tenant        INTEGER NOT NULL,
  thread        INTEGER NOT NULL,
  run           TEXT    NOT NULL,
  at            INTEGER NOT NULL,
  calls         INTEGER NOT NULL,
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  steps         INTEGER NOT NULL,
  micros        INTEGER NOT NULL,
  nanos         INTEGER NOT NULL,
  PRIMARY KEY (tenant, thread, run)
) WITHOUT ROWID;

CREATE TABLE ds_cards (
  tenant    INTEGER NOT NULL,
  thread    INTEGER NOT NULL,
  branch    INTEGER NOT NULL,
  cursor    INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  forgotten INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  body      TEXT    NOT NULL,
  PRIMARY KEY (tenant, thread, branch)
);

CREATE TABLE ds_answers (
  answer      INTEGER PRIMARY KEY,
  tenant      INTEGER NOT NULL,
  owner       TEXT    NOT NULL,
  scope       TEXT    NOT NULL,
  key         BLOB    NOT NULL,
  id          TEXT    NOT NULL,
  author      TEXT,
  said_in     TEXT,
  stored_at   INTEGER NOT NULL,
  expires_at  INTEGER,
  calibration INTEGER,
  vector      BLOB,
  terms       BLOB    NOT NULL,
  body        TEXT    NOT NULL,
  UNIQUE (tenant, owner, scope, key)
);

CREATE INDEX ds_answers_named ON ds_answers (tenant, id);
CREATE INDEX ds_answers_expiry ON ds_answers (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX ds_answers_thread ON ds_answers (tenant, said_in) WHERE said_in IS NOT NULL;
CREATE INDEX ds_answers_author ON ds_answers (tenant, author) WHERE author IS NOT NULL;

CREATE TABLE ds_answer_sources (
  tenant  INTEGER NOT NULL,
  answer  INTEGER NOT NULL,
  source  TEXT    NOT NULL,
  version TEXT    NOT NULL,
  PRIMARY KEY (tenant, answer, source)
) WITHOUT ROWID;

CREATE INDEX ds_answer_sources_version ON ds_answer_sources (tenant, source, version);

CREATE TABLE ds_answer_uses (
  tenant     INTEGER NOT NULL,
  answer     INTEGER NOT NULL,
  use        INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  band       TEXT    NOT NULL,
  key        BLOB    NOT NULL,
  asked      TEXT    NOT NULL,
  owner      TEXT,
  said_in    TEXT,
  coordinate TEXT,
  PRIMARY KEY (tenant, answer, use)
) WITHOUT ROWID;

CREATE INDEX ds_answer_uses_key ON ds_answer_uses (tenant, key);
CREATE INDEX ds_answer_uses_thread ON ds_answer_uses (tenant, said_in) WHERE said_in IS NOT NULL;

CREATE TABLE ds_answer_parents (
  tenant INTEGER NOT NULL,
  parent INTEGER NOT NULL,
  answer INTEGER NOT NULL,
  PRIMARY KEY (tenant, parent, answer)
) WITHOUT ROWID;

CREATE INDEX ds_answer_parents_child ON ds_answer_parents (tenant, answer);

CREATE TABLE ds_calibrations (
  tenant      INTEGER NOT NULL,
  calibration INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  embedder    TEXT    NOT NULL,
  dims        INTEGER NOT NULL,
  hit         REAL    NOT NULL,
  reference   REAL    NOT NULL,
  body        TEXT    NOT NULL,
  PRIMARY KEY (tenant, calibration)
) WITHOUT ROWID;
