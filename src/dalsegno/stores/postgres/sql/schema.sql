-- dalsegno, format 1, PostgreSQL. See FORMAT.md for what each column means.
-- Times are microseconds since 1970-01-01 UTC. Every table of a thread leads with (tenant, thread).

CREATE TABLE ds_meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE ds_tenants (
  tenant integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name   text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE ds_threads (
  tenant       integer NOT NULL,
  thread       bigint  GENERATED ALWAYS AS IDENTITY,
  name         text COLLATE "C" NOT NULL,
  owner        text,
  created_at   bigint  NOT NULL,
  updated_at   bigint  NOT NULL,
  deleted_at   bigint,
  events       integer NOT NULL DEFAULT 0,
  wiped        integer NOT NULL DEFAULT 0,
  pool         integer NOT NULL DEFAULT 0,
  lanes        integer NOT NULL DEFAULT 0,
  checkpoints  integer NOT NULL DEFAULT 0,
  branches     integer NOT NULL DEFAULT 0,
  namespaces   integer NOT NULL DEFAULT 0,
  fence        integer NOT NULL DEFAULT 0,
  lease_holder text,
  lease_until  bigint,
  stands       smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, thread),
  UNIQUE (tenant, name)
) WITH (fillfactor = 95);

CREATE INDEX ds_threads_born ON ds_threads (tenant, created_at);

CREATE TABLE ds_namespaces (
  tenant integer NOT NULL,
  thread bigint  NOT NULL,
  ns     integer NOT NULL,
  name   text COLLATE "C" NOT NULL,
  head   integer,
  PRIMARY KEY (tenant, thread, ns),
  UNIQUE (tenant, thread, name)
) WITH (fillfactor = 95);

CREATE TABLE ds_branches (
  tenant    integer NOT NULL,
  thread    bigint  NOT NULL,
  branch    integer NOT NULL,
  parent    integer,
  forked_at integer,
  PRIMARY KEY (tenant, thread, branch)
);

CREATE TABLE ds_items (
  thread bigint  NOT NULL,
  tenant integer NOT NULL,
  lane   integer NOT NULL,
  pos    integer NOT NULL,
  digest bytea,
  body   jsonb   NOT NULL,
  PRIMARY KEY (tenant, thread, lane, pos)
);

CREATE INDEX ds_items_digest ON ds_items (tenant, thread, digest) WHERE digest IS NOT NULL;

CREATE TABLE ds_blobs (
  tenant integer NOT NULL,
  digest bytea   NOT NULL,
  body   text    NOT NULL,
  PRIMARY KEY (tenant, digest)
);

CREATE TABLE ds_blob_refs (
  tenant integer NOT NULL,
  thread bigint  NOT NULL,
  digest bytea   NOT NULL,
  PRIMARY KEY (tenant, thread, digest)
);

CREATE INDEX ds_blob_refs_digest ON ds_blob_refs (tenant, digest);

CREATE TABLE ds_forms (
  tenant integer NOT NULL,
  form   integer GENERATED ALWAYS AS IDENTITY,
  digest bytea   NOT NULL,
  body   text    NOT NULL,
  PRIMARY KEY (tenant, form)
);

CREATE INDEX ds_forms_digest ON ds_forms (tenant, digest);

CREATE TABLE ds_checkpoints (
  thread     bigint  NOT NULL,
  created_at bigint  NOT NULL,
  tenant     integer NOT NULL,
  ckpt       integer NOT NULL,
  ns         integer NOT NULL,
  parent     integer,
  branch     integer NOT NULL,
  step       integer,
  meta       integer,
  shape      integer,
  graph      integer,
  version    integer,
  source     smallint,
  id         bytea   NOT NULL,
  run        text,
  frame      text,
  state      text,
  PRIMARY KEY (tenant, thread, ckpt)
);

CREATE UNIQUE INDEX ds_checkpoints_id ON ds_checkpoints (tenant, thread, id, ns);
CREATE INDEX ds_checkpoints_run ON ds_checkpoints (tenant, run) WHERE run IS NOT NULL;

CREATE TABLE ds_writes (
  thread bigint  NOT NULL,
  tenant integer NOT NULL,
  ckpt   integer NOT NULL,
  task   bytea   NOT NULL,
  path   text    NOT NULL,
  body   text    NOT NULL,
  PRIMARY KEY (tenant, thread, ckpt, task)
);

CREATE TABLE ds_events (
  thread bigint  NOT NULL,
  at     bigint  NOT NULL,
  tenant integer NOT NULL,
  seq    integer NOT NULL,
  branch integer NOT NULL,
  ckpt   integer,
  mark   integer,
  lane   integer NOT NULL,
  pos    integer NOT NULL,
  kind   smallint NOT NULL,
  author text    NOT NULL,
  terms  bytea   NOT NULL,
  PRIMARY KEY (tenant, thread, seq)
);

CREATE INDEX ds_events_mark ON ds_events (tenant, thread, mark) WHERE mark IS NOT NULL;

CREATE TABLE ds_summaries (
  thread   bigint  NOT NULL,
  at       bigint  NOT NULL,
  tenant   integer NOT NULL,
  summary  integer NOT NULL,
  branch   integer NOT NULL,
  ckpt     integer,
  from_seq integer NOT NULL,
  to_seq   integer NOT NULL,
  writer   text    NOT NULL,
  policy   text    NOT NULL,
  lines    text    NOT NULL,
  facts    text    NOT NULL,
  PRIMARY KEY (tenant, thread, summary)
);

CREATE TABLE ds_actions (
  tenant      integer NOT NULL,
  thread      bigint  NOT NULL,
  key         bytea   NOT NULL,
  name        text    NOT NULL,
  kind        text    NOT NULL,
  scope       text    NOT NULL,
  anchor      text,
  recipient   text,
  arguments   text    NOT NULL,
  state       text    NOT NULL,
  version     integer NOT NULL,
  attempts    integer NOT NULL,
  fence       integer NOT NULL,
  holder      text,
  lease_until bigint,
  approval    text,
  result      text,
  error       text,
  created_at  bigint  NOT NULL,
  updated_at  bigint  NOT NULL,
  started_at  bigint,
  ended_at    bigint,
  PRIMARY KEY (tenant, thread, key)
);

CREATE UNIQUE INDEX ds_actions_key ON ds_actions (tenant, key);

CREATE TABLE ds_audit (
  tenant integer NOT NULL,
  thread bigint  NOT NULL,
  seq    integer NOT NULL,
  at     bigint  NOT NULL,
  digest bytea   NOT NULL,
  hash   bytea   NOT NULL,
  body   text,
  PRIMARY KEY (tenant, thread, seq)
);

CREATE TABLE ds_audit_heads (
  tenant integer NOT NULL,
  thread bigint  NOT NULL,
  seq    integer NOT NULL,
  hash   bytea   NOT NULL,
  place  bigint  NOT NULL,
  link   bytea   NOT NULL,
  seal   bytea,
  PRIMARY KEY (tenant, thread)
);

CREATE TABLE ds_audit_roots (
  tenant integer PRIMARY KEY,
  chains bigint NOT NULL,
  hash   bytea,
  seal   bytea
);

CREATE TABLE ds_tags (
  tenant integer NOT NULL,
  thread bigint  NOT NULL,
  tag    text    COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, thread, tag)
);

CREATE INDEX ds_tags_tag ON ds_tags (tenant, tag);

CREATE TABLE ds_erasures (
  tenant       integer NOT NULL,
  thread       bigint  NOT NULL,
  at           bigint  NOT NULL,
  salt         bytea,
  digest       bytea,
  closed_until bigint,
  rewritten_at bigint,
  PRIMARY KEY (tenant, thread)
);

CREATE INDEX ds_erasures_digest ON ds_erasures (tenant, digest) WHERE digest IS NOT NULL;

CREATE TABLE ds_runs (
  tenant      integer NOT NULL,
  thread      bigint  NOT NULL,
  attempts    integer NOT NULL,
  failures    integer NOT NULL,
  deaths      integer NOT NULL,
  taken_at    integer NOT NULL,
  fingerprint bytea,
  error       text,
  place       text,
  failed_at   bigint,
  parked_at   bigint,
  due         bigint,
  PRIMARY KEY (tenant, thread)
);

CREATE INDEX ds_threads_lease ON ds_threads (tenant, lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX ds_runs_due ON ds_runs (tenant, due) WHERE due IS NOT NULL;

-- What was said is not sampled for the planner: its statistics would keep words that were erased.
ALTER TABLE ds_threads ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN owner SET STATISTICS 0,
  ALTER COLUMN lease_holder SET STATISTICS 0;
ALTER TABLE ds_namespaces ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ds_items ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_blobs ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_forms ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_checkpoints ALTER COLUMN run SET STATISTICS 0, ALTER COLUMN frame SET STATISTICS 0,
  ALTER COLUMN state SET STATISTICS 0;
ALTER TABLE ds_writes ALTER COLUMN path SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_events ALTER COLUMN author SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE ds_summaries ALTER COLUMN writer SET STATISTICS 0, ALTER COLUMN policy SET STATISTICS 0,
  ALTER COLUMN lines SET STATISTICS 0, ALTER COLUMN facts SET STATISTICS 0;
ALTER TABLE ds_actions ALTER COLUMN name SET STATISTICS 0, ALTER COLUMN anchor SET STATISTICS 0,
  ALTER COLUMN recipient SET STATISTICS 0, ALTER COLUMN arguments SET STATISTICS 0,
  ALTER COLUMN holder SET STATISTICS 0, ALTER COLUMN approval SET STATISTICS 0, ALTER COLUMN result SET STATISTICS 0,
  ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE ds_audit ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_tags ALTER COLUMN tag SET STATISTICS 0;
ALTER TABLE ds_runs ALTER COLUMN error SET STATISTICS 0, ALTER COLUMN place SET STATISTICS 0;

-- A stored tree with everything it points to put back in place; see FORMAT.md, "Nodes".
CREATE FUNCTION ds_whole(of_tenant integer, of_thread bigint, tree jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
DECLARE
  key text;
BEGIN
  IF jsonb_typeof(tree) = 'array' THEN
    IF tree::text NOT LIKE '%"$%' THEN
      RETURN tree;
    END IF;
    RETURN (SELECT coalesce(jsonb_agg(ds_whole(of_tenant, of_thread, part) ORDER BY place), '[]'::jsonb)
            FROM jsonb_array_elements(tree) WITH ORDINALITY AS parts (part, place));
  ELSIF jsonb_typeof(tree) <> 'object' THEN
    RETURN tree;
  END IF;
  IF (SELECT count(*) FROM jsonb_object_keys(tree)) = 1 THEN
    SELECT k INTO key FROM jsonb_object_keys(tree) AS k;
    IF key = '$ref' THEN
      RETURN (SELECT ds_whole(of_tenant, of_thread, i.body) FROM ds_items i
              WHERE i.tenant = of_tenant AND i.thread = of_thread AND i.lane = 0 AND i.pos = (tree ->> '$ref')::int);
    ELSIF key = '$blob' THEN
      RETURN (SELECT to_jsonb(b.body) FROM ds_blobs b
              WHERE b.tenant = of_tenant AND b.digest = decode(tree ->> '$blob', 'hex'));
    ELSIF key = '$list' OR key = '$dict' THEN
      RETURN (
        -- Both aggregates are computed under a generic plan, so elements of a list must not reach the object's.
        SELECT CASE
          WHEN key = '$dict' THEN
            coalesce(jsonb_object_agg(e.whole ->> 0, e.whole -> 1) FILTER (WHERE key = '$dict'), '{}'::jsonb)
          ELSE coalesce(jsonb_agg(e.whole ORDER BY e.range_no, e.pos, e.chunk_no), '[]'::jsonb)
        END
        FROM (
          SELECT r.range_no, i.pos, c.chunk_no, ds_whole(of_tenant, of_thread, c.part) AS whole
          FROM jsonb_array_elements(tree -> key) WITH ORDINALITY AS r (part, range_no)
          JOIN ds_items i ON i.tenant = of_tenant AND i.thread = of_thread AND i.lane = (r.part ->> 0)::int
           AND i.pos BETWEEN (r.part ->> 1)::int AND (r.part ->> 2)::int
          CROSS JOIN LATERAL jsonb_array_elements(
            CASE WHEN jsonb_typeof(i.body) = 'object' AND i.body ? '$chunk' THEN i.body -> '$chunk'
                 ELSE jsonb_build_array(i.body) END) WITH ORDINALITY AS c (part, chunk_no)
        ) e);
    END IF;
  END IF;
  IF tree::text NOT LIKE '%"$%' THEN
    RETURN tree;
  END IF;
  RETURN (SELECT coalesce(jsonb_object_agg(k, ds_whole(of_tenant, of_thread, v)), '{}'::jsonb)
          FROM jsonb_each(tree) AS parts (k, v));
END
$$;

-- Whole states for anyone with psql.
CREATE VIEW graph_checkpoints AS
SELECT
  t.name AS thread_id,
  encode(c.id, 'hex')::uuid::text AS checkpoint_id,
  encode(p.id, 'hex')::uuid::text AS parent_id,
  n.name AS namespace,
  (SELECT coalesce(jsonb_object_agg(f.body::jsonb -> 0 ->> (place #>> '{}')::int, ds_whole(c.tenant, c.thread, node)),
                   '{}'::jsonb)
   FROM jsonb_array_elements(c.state::jsonb) WITH ORDINALITY AS nodes (node, nth)
   JOIN jsonb_array_elements(f.body::jsonb -> 3) WITH ORDINALITY AS places (place, nth) USING (nth)) AS state,
  to_timestamp(c.created_at / 1000000.0) AS created_at,
  x.name AS tenant
FROM ds_checkpoints c
JOIN ds_tenants x ON x.tenant = c.tenant
JOIN ds_threads t ON t.tenant = c.tenant AND t.thread = c.thread
JOIN ds_namespaces n ON n.tenant = c.tenant AND n.thread = c.thread AND n.ns = c.ns
JOIN ds_forms f ON f.tenant = c.tenant AND f.form = c.shape
LEFT JOIN ds_checkpoints p ON p.tenant = c.tenant AND p.thread = c.thread AND p.ckpt = c.parent
WHERE c.state IS NOT NULL;

CREATE TABLE ds_memories (
  created_at bigint   NOT NULL,
  updated_at bigint   NOT NULL,
  expires_at bigint,
  ttl        bigint,
  valid_from bigint,
  valid_to   bigint,
  memory     bigint   GENERATED ALWAYS AS IDENTITY,
  tenant     integer  NOT NULL,
  size       integer  NOT NULL,
  unembedded smallint NOT NULL,
  owner      text COLLATE "C" NOT NULL,
  namespace  text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  subject    text COLLATE "C",
  attribute  text COLLATE "C",
  terms      bytea    NOT NULL,
  fields     text,
  body       jsonb    NOT NULL,
  PRIMARY KEY (tenant, memory),
  UNIQUE (tenant, owner, namespace, key)
);

CREATE INDEX ds_memories_updated ON ds_memories (tenant, owner, updated_at);
CREATE INDEX ds_memories_fact ON ds_memories (tenant, owner, subject, attribute) WHERE subject IS NOT NULL;
CREATE INDEX ds_memories_named ON ds_memories (tenant, key) WHERE subject IS NOT NULL;
CREATE INDEX ds_memories_expiry ON ds_memories (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX ds_memories_unembedded ON ds_memories (tenant, memory) WHERE unembedded = 1;

CREATE TABLE ds_evidence (
  memory bigint  NOT NULL,
  thread bigint  NOT NULL,
  tenant integer NOT NULL,
  seq    integer NOT NULL,
  author text    NOT NULL,
  PRIMARY KEY (tenant, memory, thread, seq)
);

CREATE INDEX ds_evidence_thread ON ds_evidence (tenant, thread);

CREATE TABLE ds_vectors (
  memory bigint  NOT NULL,
  tenant integer NOT NULL,
  part   integer NOT NULL,
  vector real[]  NOT NULL,
  PRIMARY KEY (tenant, memory, part)
);

CREATE TABLE ds_embedders (
  tenant integer PRIMARY KEY,
  name   text    NOT NULL,
  dims   integer NOT NULL
);

-- The inner product of two vectors, for servers without pgvector; of vectors of length 1 it is their cosine.
CREATE FUNCTION ds_nearness(a real[], b real[]) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sum(x::double precision * y) FROM unnest(a, b) AS pairs (x, y)
$$;

CREATE TABLE ds_manifests (
  thread     bigint  NOT NULL,
  at         bigint  NOT NULL,
  tenant     integer NOT NULL,
  manifest   integer NOT NULL,
  step       integer NOT NULL,
  checkpoint text,
  ns         text    NOT NULL,
  task       text,
  node       text    NOT NULL,
  body       text    NOT NULL,
  PRIMARY KEY (tenant, thread, manifest)
);

CREATE TABLE ds_spending (
  thread        bigint  NOT NULL,
  at            bigint  NOT NULL,
  calls         bigint  NOT NULL,
  input_tokens  bigint  NOT NULL,
  output_tokens bigint  NOT NULL,
  steps         bigint  NOT NULL,
  micros        bigint  NOT NULL,
  nanos         bigint  NOT NULL,
  tenant        integer NOT NULL,
  run           text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, thread, run)
);

ALTER TABLE ds_manifests ALTER COLUMN checkpoint SET STATISTICS 0, ALTER COLUMN ns SET STATISTICS 0,
  ALTER COLUMN task SET STATISTICS 0, ALTER COLUMN node SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_spending ALTER COLUMN run SET STATISTICS 0;

CREATE TABLE ds_cards (
  thread    bigint  NOT NULL,
  at        bigint  NOT NULL,
  tenant    integer NOT NULL,
  branch    integer NOT NULL,
  cursor    integer NOT NULL,
  version   integer NOT NULL,
  forgotten integer NOT NULL,
  body      text    NOT NULL,
  PRIMARY KEY (tenant, thread, branch)
);

ALTER TABLE ds_cards ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_memories ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN namespace SET STATISTICS 0,
  ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN subject SET STATISTICS 0, ALTER COLUMN attribute SET STATISTICS 0,
  ALTER COLUMN fields SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_evidence ALTER COLUMN author SET STATISTICS 0;
ALTER TABLE ds_embedders ALTER COLUMN name SET STATISTICS 0;

CREATE TABLE ds_answers (
  answer      bigint  GENERATED ALWAYS AS IDENTITY,
  stored_at   bigint  NOT NULL,
  expires_at  bigint,
  tenant      integer NOT NULL,
  calibration integer,
  owner       text COLLATE "C" NOT NULL,
  scope       text COLLATE "C" NOT NULL,
  key         bytea   NOT NULL,
  id          text COLLATE "C" NOT NULL,
  author      text COLLATE "C",
  said_in     text COLLATE "C",
  vector      real[],
  terms       bytea   NOT NULL,
  body        text    NOT NULL,
  PRIMARY KEY (tenant, answer),
  UNIQUE (tenant, owner, scope, key)
);

CREATE INDEX ds_answers_named ON ds_answers (tenant, id);
CREATE INDEX ds_answers_expiry ON ds_answers (tenant, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX ds_answers_thread ON ds_answers (tenant, said_in) WHERE said_in IS NOT NULL;
CREATE INDEX ds_answers_author ON ds_answers (tenant, author) WHERE author IS NOT NULL;

CREATE TABLE ds_answer_sources (
  answer  bigint  NOT NULL,
  tenant  integer NOT NULL,
  source  text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  PRIMARY KEY (tenant, answer, source)
);

CREATE INDEX ds_answer_sources_version ON ds_answer_sources (tenant, source, version);

CREATE TABLE ds_answer_uses (
  answer     bigint  NOT NULL,
  at         bigint  NOT NULL,
  tenant     integer NOT NULL,
  use        integer NOT NULL,
  band       text    NOT NULL,
  key        bytea   NOT NULL,
  asked      text    NOT NULL,
  owner      text COLLATE "C",
  said_in    text COLLATE "C",
  coordinate text,
  PRIMARY KEY (tenant, answer, use)
);

CREATE INDEX ds_answer_uses_key ON ds_answer_uses (tenant, key);
CREATE INDEX ds_answer_uses_thread ON ds_answer_uses (tenant, said_in) WHERE said_in IS NOT NULL;

CREATE TABLE ds_answer_parents (
  parent bigint  NOT NULL,
  answer bigint  NOT NULL,
  tenant integer NOT NULL,
  PRIMARY KEY (tenant, parent, answer)
);

CREATE INDEX ds_answer_parents_child ON ds_answer_parents (tenant, answer);

CREATE TABLE ds_calibrations (
  at          bigint  NOT NULL,
  hit         double precision NOT NULL,
  reference   double precision NOT NULL,
  tenant      integer NOT NULL,
  calibration integer NOT NULL,
  dims        integer NOT NULL,
  embedder    text    NOT NULL,
  body        text    NOT NULL,
  PRIMARY KEY (tenant, calibration)
);

ALTER TABLE ds_answers ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN scope SET STATISTICS 0,
  ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN id SET STATISTICS 0, ALTER COLUMN author SET STATISTICS 0,
  ALTER COLUMN said_in SET STATISTICS 0, ALTER COLUMN vector SET STATISTICS 0, ALTER COLUMN terms SET STATISTICS 0,
  ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE ds_answer_sources ALTER COLUMN source SET STATISTICS 0, ALTER COLUMN version SET STATISTICS 0;
ALTER TABLE ds_answer_uses ALTER COLUMN band SET STATISTICS 0, ALTER COLUMN key SET STATISTICS 0, ALTER COLUMN asked SET STATISTICS 0,
  ALTER COLUMN owner SET STATISTICS 0, ALTER COLUMN said_in SET STATISTICS 0, ALTER COLUMN coordinate SET STATISTICS 0;
ALTER TABLE ds_calibrations ALTER COLUMN embedder SET STATISTICS 0, ALTER COLUMN body SET STATISTICS 0;
