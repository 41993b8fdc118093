-- What operators look at and write.

ALTER TABLE {dead_letters} ADD COLUMN original BLOB;
ALTER TABLE {dead_letters} ADD COLUMN edits INTEGER NOT NULL DEFAULT 0;
CREATE INDEX {dead_letters}_consumer ON {dead_letters} (consumer, seq);
CREATE INDEX {dead_letters}_topic ON {dead_letters} (topic, seq);
CREATE INDEX {dead_letters}_reason ON {dead_letters} (reason, seq);
CREATE INDEX {dead_letters}_class ON {dead_letters} (class, seq);
CREATE INDEX {dead_letters}_state ON {dead_letters} (state, seq);
CREATE INDEX {dead_letters}_key ON {dead_letters} (key, seq);
CREATE INDEX {dead_letters}_failed ON {dead_letters} (last_failed);

CREATE TABLE {audit} (
  seq         INTEGER PRIMARY KEY AUTOINCREMENT,
  at          INTEGER NOT NULL,
  actor       TEXT    NOT NULL,
  action      TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  consumer    TEXT    NOT NULL,
  dead_letter TEXT    NOT NULL,
  key         BLOB    NOT NULL,
  detail      TEXT    NOT NULL
);

CREATE INDEX {audit}_letter ON {audit} (dead_letter, seq) WHERE dead_letter <> '';
CREATE INDEX {audit}_consumer ON {audit} (consumer, seq);

CREATE TABLE {controls} (
  consumer   TEXT    PRIMARY KEY,
  paused     INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  actor      TEXT    NOT NULL,
  version    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE {presence} (
  instance TEXT    NOT NULL,
  consumer TEXT    NOT NULL,
  body     TEXT    NOT NULL,
  seen_at  INTEGER NOT NULL,
  PRIMARY KEY (instance, consumer)
) WITHOUT ROWID;

CREATE TABLE {sightings} (
  consumer   TEXT    NOT NULL,
  key        BLOB    NOT NULL,
  cause      TEXT    NOT NULL,
  source     TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  count      INTEGER NOT NULL,
  first_at   INTEGER NOT NULL,
  last_at    INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (consumer, key, cause, source)
) WITHOUT ROWID;

CREATE INDEX {sightings}_expiry ON {sightings} (expires_at);

CREATE TABLE {jobs} (
  id         TEXT    PRIMARY KEY,
  version    INTEGER NOT NULL,
  state      TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) WITHOUT ROWID;
