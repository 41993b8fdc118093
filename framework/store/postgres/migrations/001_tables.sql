-- {inbox} and the like are replaced by the configured names.

-- One row per key. A new key is one insert and no update. Rows are narrow and
-- die by age, so vacuum must not wait for a fifth of the table to be dead.
-- Updates (retries) stay on their page where they can.
CREATE TABLE {inbox} (
	consumer     text        NOT NULL,
	key          bytea       NOT NULL,
	status       text        NOT NULL,
	fingerprint  text        NOT NULL,
	token        text        NOT NULL,
	attempts     int         NOT NULL,
	message_id   text        NOT NULL,
	source       text        NOT NULL,
	first_seen   timestamptz NOT NULL DEFAULT now(),
	expires_at   timestamptz NOT NULL,
	first_failed timestamptz,
	lease_until  timestamptz,
	last_error   text        NOT NULL DEFAULT '',
	result       bytea,
	PRIMARY KEY (consumer, key)
) WITH (
	fillfactor = 95,
	autovacuum_vacuum_scale_factor = 0.02,
	autovacuum_vacuum_insert_scale_factor = 0.05,
	autovacuum_analyze_scale_factor = 0.05
);
-- For Sweep. Equal values share index entries' pages in order of arrival.
CREATE INDEX {prefix}inbox_expires_idx ON {inbox} (expires_at);

-- Rows live for seconds: it is a queue, and vacuum must keep up with it. A lease
-- changes no indexed column; the free space lets it stay on its page.
CREATE TABLE {outbox} (
	seq           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	id            text        NOT NULL,
	topic         text        NOT NULL,
	key           bytea,
	lane          bytea,
	header_names  text[],
	header_values bytea[],
	payload       bytea,
	due_at        timestamptz NOT NULL,
	ready_at      timestamptz NOT NULL,
	lease         text,
	leased_until  timestamptz,
	attempts      int         NOT NULL DEFAULT 0
) WITH (
	fillfactor = 70,
	autovacuum_vacuum_scale_factor = 0.05,
	autovacuum_vacuum_threshold = 1000,
	autovacuum_analyze_scale_factor = 0.2,
	autovacuum_vacuum_cost_delay = 0
);
CREATE UNIQUE INDEX {prefix}outbox_id_key ON {outbox} (topic, id);
CREATE INDEX {prefix}outbox_ready_idx ON {outbox} (ready_at);
CREATE INDEX {prefix}outbox_lane_idx ON {outbox} (topic, lane, seq) WHERE lane IS NOT NULL;

CREATE TABLE {dead_letters} (
	id             text        PRIMARY KEY,
	stored_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
	consumer       text        NOT NULL,
	key            bytea       NOT NULL,
	fingerprint    text        NOT NULL,
	state          text        NOT NULL,
	reason         text        NOT NULL,
	class          text        NOT NULL,
	error          text        NOT NULL,
	attempts       int         NOT NULL,
	message_id     text        NOT NULL,
	topic          text        NOT NULL,
	position       text        NOT NULL,
	enqueued_at    timestamptz,
	correlation_id text        NOT NULL,
	trace_parent   text        NOT NULL,
	ordering_key   bytea,
	header_names   text[],
	header_values  bytea[],
	payload        bytea,
	first_failed   timestamptz NOT NULL,
	last_failed    timestamptz NOT NULL,
	replays        int         NOT NULL DEFAULT 0
);
-- Each filter with the order of pages. Class and state have few values and are
-- filtered; what is parked is counted all the time.
CREATE INDEX {prefix}dead_letters_stored_idx ON {dead_letters} (stored_at, id);
CREATE INDEX {prefix}dead_letters_parked_idx ON {dead_letters} (stored_at, id) WHERE state = 'parked';
CREATE INDEX {prefix}dead_letters_consumer_idx ON {dead_letters} (consumer, stored_at, id);
CREATE INDEX {prefix}dead_letters_topic_idx ON {dead_letters} (topic, stored_at, id);
CREATE INDEX {prefix}dead_letters_reason_idx ON {dead_letters} (reason, stored_at, id);
CREATE INDEX {prefix}dead_letters_key_idx ON {dead_letters} (key, stored_at, id);
