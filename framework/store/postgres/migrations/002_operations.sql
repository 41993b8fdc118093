-- What operators look at and write. Times are microseconds since 1970 by this
-- server's clock.

ALTER TABLE {dead_letters} ADD COLUMN original bytea, ADD COLUMN edits int NOT NULL DEFAULT 0;
CREATE INDEX {prefix}dead_letters_class_idx ON {dead_letters} (class, stored_at, id);
CREATE INDEX {prefix}dead_letters_failed_idx ON {dead_letters} (last_failed);

CREATE TABLE {audit} (
	seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	at          bigint NOT NULL,
	actor       text   NOT NULL,
	action      text   NOT NULL,
	reason      text   NOT NULL,
	consumer    text   NOT NULL,
	dead_letter text   NOT NULL,
	key         bytea  NOT NULL,
	detail      text   NOT NULL
);
CREATE INDEX {prefix}audit_letter_idx ON {audit} (dead_letter, seq) WHERE dead_letter <> '';
CREATE INDEX {prefix}audit_consumer_idx ON {audit} (consumer, seq);

CREATE TABLE {controls} (
	consumer   text   PRIMARY KEY,
	paused     bigint NOT NULL,
	reason     text   NOT NULL,
	actor      text   NOT NULL,
	version    bigint NOT NULL,
	changed_at bigint NOT NULL
);

-- A few rows that are written every few seconds: vacuum them early.
CREATE TABLE {presence} (
	instance text   NOT NULL,
	consumer text   NOT NULL,
	body     text   NOT NULL,
	seen_at  bigint NOT NULL,
	PRIMARY KEY (instance, consumer)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE {sightings} (
	consumer   text   NOT NULL,
	key        bytea  NOT NULL,
	cause      text   NOT NULL,
	source     text   NOT NULL,
	message_id text   NOT NULL,
	count      bigint NOT NULL,
	first_at   bigint NOT NULL,
	last_at    bigint NOT NULL,
	expires_at bigint NOT NULL,
	PRIMARY KEY (consumer, key, cause, source)
);
CREATE INDEX {prefix}sightings_expires_idx ON {sightings} (expires_at);

CREATE TABLE {jobs} (
	id         text   PRIMARY KEY,
	version    bigint NOT NULL,
	state      text   NOT NULL,
	body       text   NOT NULL,
	started_at bigint NOT NULL,
	updated_at bigint NOT NULL
);
