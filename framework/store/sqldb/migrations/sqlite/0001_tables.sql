-- Times are integer microseconds since 1970 by this database's clock.

CREATE TABLE {inbox} (
  consumer     TEXT    NOT NULL,
  key          BLOB    NOT NULL,
  status       TEXT    NOT NULL,
  fingerprint  TEXT    NOT NULL,
  token        TEXT    NOT NULL,
  attempts     INTEGER NOT NULL,
  last_error   TEXT    NOT NULL,
  message_id   TEXT    NOT NULL,
  source       TEXT    NOT NULL,
  result       BLOB,
  lease_until  INTEGER,
  first_seen   INTEGER NOT NULL,
  first_failed INTEGER,
  updated_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  PRIMARY KEY (consumer, key)
) WITHOUT ROWID;

CREATE INDEX {inbox}_expiry ON {inbox} (expires_at);

CREATE TABLE {outbox} (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT    NOT NULL,
  topic        TEXT    NOT NULL,
  key          BLOB,
  headers      BLOB    NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  due_at       INTEGER NOT NULL,           -- never earlier than an older row's of the same topic and key
  held_until   INTEGER NOT NULL DEFAULT 0, -- leased or postponed until then
  lease        TEXT,
  created_at   INTEGER NOT NULL,
  published_at INTEGER,
  payload      BLOB,
  UNIQUE (topic, id)
);

CREATE INDEX {outbox}_due ON {outbox} (due_at, seq, held_until, published_at) WHERE published_at IS NULL; -- covers the count
CREATE INDEX {outbox}_key ON {outbox} (topic, key, seq) WHERE key IS NOT NULL AND published_at IS NULL;
CREATE INDEX {outbox}_published ON {outbox} (published_at) WHERE published_at IS NOT NULL;

CREATE TABLE {dead_letters} (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  id             TEXT    NOT NULL UNIQUE,
  consumer       TEXT    NOT NULL,
  key            BLOB    NOT NULL,
  fingerprint    TEXT    NOT NULL,
  state          TEXT    NOT NULL,
  reason         TEXT    NOT NULL,
  class          TEXT    NOT NULL,
  error          TEXT    NOT NULL,
  attempts       INTEGER NOT NULL,
  message_id     TEXT    NOT NULL,
  topic          TEXT    NOT NULL,
  position       TEXT    NOT NULL,
  enqueued_at    INTEGER,
  correlation_id TEXT    NOT NULL,
  trace_parent   TEXT    NOT NULL,
  ordering_key   BLOB,
  headers        BLOB    NOT NULL,
  first_failed   INTEGER NOT NULL,
  last_failed    INTEGER NOT NULL,
  replays        INTEGER NOT NULL DEFAULT 0,
  updated_at     INTEGER NOT NULL,
  payload        BLOB
);

CREATE INDEX {dead_letters}_parked ON {dead_letters} (last_failed) WHERE state = 'parked';
