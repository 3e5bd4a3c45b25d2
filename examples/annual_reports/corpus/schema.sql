-- An index of reports. Postings and vectors are rebuilt from the documents; nothing here is the only copy of anything.

CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS companies (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,  -- the name without legal form, case and signs
  name TEXT NOT NULL UNIQUE
);

CREATE TABLE IF NOT EXISTS aliases (
  alias TEXT NOT NULL,  -- folded
  company INTEGER NOT NULL REFERENCES companies ON DELETE CASCADE,
  PRIMARY KEY (alias, company)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS documents (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,  -- of the content and of what the caller said about it
  company INTEGER NOT NULL REFERENCES companies,
  fiscal_year INTEGER,
  covers TEXT NOT NULL,  -- JSON list: every year by which a reader may call it
  pages INTEGER NOT NULL,
  passages INTEGER NOT NULL,
  tables INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS documents_company ON documents (company);

CREATE TABLE IF NOT EXISTS passages (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  page INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('text', 'table')),
  text TEXT NOT NULL,
  size INTEGER NOT NULL,  -- in terms
  vector BLOB  -- of length 1, half precision, little endian; NULL for a text without words
);
CREATE INDEX IF NOT EXISTS passages_document ON passages (document);

CREATE TABLE IF NOT EXISTS words (
  company INTEGER NOT NULL,
  term TEXT NOT NULL,
  document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
  postings BLOB NOT NULL,  -- passage, count, size of the passage; 32 bits each, little endian
  PRIMARY KEY (company, term, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS words_document ON words (document);
