package postgres

// statements are the queue's SQL with its names filled in.
type statements struct {
	insert, group                    string
	claim, claimParked, claimOrdered string
	ack, ackOne, release, extend     string
	nextDue, depth                   string
	touchTopic, addGroup, backlog    string
	clean, heal                      string
	lockTopic, lockClaims, lockKeep  string
}

// settings go with every statement on the deliveries. Losing one of those in a
// crash costs a redelivery, not worth waiting for the disk. The plan is fixed
// to index look-ups, because a plan made while the queue was empty would scan
// the table when it no longer is.
const settings = `SELECT set_config('synchronous_commit', 'off', true), set_config('jit', 'off', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

func newStatements(n names) statements {
	return statements{
		insert: n.fill(`
			INSERT INTO {{.Messages}} (topic, uuid, key, headers, payload)
			SELECT $1, m.uuid, m.key, m.headers::bytea[], m.payload
			FROM unnest($2::text[], $3::bytea[], $4::text[], $5::bytea[])
				WITH ORDINALITY AS m (uuid, key, headers, payload, nth)
			ORDER BY m.nth`),
		group: n.fill(`SELECT id FROM {{.Groups}} WHERE topic = $1 AND grp = $2`),

		claim:        n.fill(claimWhere(`visible_at <= statement_timestamp()`)),
		claimParked:  n.fill(claimWhere(`visible_at = 'infinity'`)),
		claimOrdered: n.fill(claimOrdered),

		ack: n.fill(`DELETE FROM {{.Deliveries}} d USING unnest($1::bigint[], $2::text[]) AS l (id, token)
			WHERE d.id = l.id AND d.token::text = l.token`),
		ackOne: n.fill(`DELETE FROM {{.Deliveries}} WHERE id = $1 AND token::text = $2`),
		release: n.fill(`
			WITH released AS (
				UPDATE {{.Deliveries}} d
				SET visible_at = statement_timestamp() + make_interval(secs => l.after),
					token = NULL, attempt = d.attempt - CASE WHEN l.counted THEN 0 ELSE 1 END
				FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::bool[]) AS l (id, token, after, counted)
				WHERE d.id = l.id AND d.token::text = l.token
				RETURNING d.grp
			)
			SELECT DISTINCT g.topic FROM released r JOIN {{.Groups}} g ON g.id = r.grp`),
		// A row that somebody has locked is being removed by a handler's
		// transaction. Waiting for that would let the other leases run out.
		extend: n.fill(`
			WITH l AS MATERIALIZED (
				SELECT id, token FROM unnest($1::bigint[], $2::text[]) AS l (id, token)
			), held AS MATERIALIZED (
				SELECT d.id, d.grp FROM l JOIN {{.Deliveries}} d ON d.id = l.id AND d.token::text = l.token
				FOR UPDATE OF d SKIP LOCKED
			), extended AS (
				UPDATE {{.Deliveries}} d SET visible_at = statement_timestamp() + $3::interval
				FROM held WHERE d.id = held.id AND d.grp = held.grp
			)
			SELECT l.id, l.token FROM l
			WHERE NOT EXISTS (SELECT FROM {{.Deliveries}} d WHERE d.id = l.id AND d.token::text = l.token)`),

		nextDue: n.fill(`
			SELECT visible_at - statement_timestamp() FROM {{.Deliveries}}
			WHERE grp = $1 AND visible_at > statement_timestamp() AND visible_at < 'infinity'
			ORDER BY grp, visible_at, id LIMIT 1`),
		depth: n.fill(`
			SELECT d.n, coalesce(statement_timestamp() - m.created_at, '0')
			FROM (SELECT count(*) AS n, min(id) AS oldest FROM {{.Deliveries}} WHERE grp = $1) d
			LEFT JOIN {{.Messages}} m ON m.id = d.oldest`),

		lockTopic:  n.fill(`SELECT pg_advisory_xact_lock({{.TopicLock}}, hashtext($1))`),
		lockClaims: n.fill(`SELECT pg_advisory_xact_lock({{.ClaimLock}}, $1)`),
		lockKeep:   n.fill(`SELECT pg_advisory_xact_lock({{.Upkeep}})`),
		touchTopic: n.fill(`INSERT INTO {{.Topics}} AS t (topic, registrations) VALUES ($1, 1)
			ON CONFLICT (topic) DO UPDATE SET registrations = t.registrations + 1`),
		addGroup: n.fill(`INSERT INTO {{.Groups}} (topic, grp) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`),
		backlog: n.fill(`
			INSERT INTO {{.Deliveries}} (id, grp, lane, visible_at)
			SELECT id, $2, hashtextextended(encode(key, 'hex'), 0), created_at
			FROM {{.Messages}} WHERE topic = $1 ORDER BY id`),

		clean: n.fill(`
			DELETE FROM {{.Messages}} WHERE id IN (
				SELECT m.id FROM {{.Messages}} m
				WHERE m.created_at <= statement_timestamp() - $1::interval
					AND NOT EXISTS (SELECT FROM {{.Deliveries}} d WHERE d.id = m.id)
				ORDER BY m.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`),
		heal: n.fill(`
			UPDATE {{.Deliveries}} d SET visible_at = m.created_at
			FROM {{.Groups}} g, {{.Messages}} m
			WHERE d.grp = g.id AND d.visible_at = 'infinity' AND m.id = d.id
				AND NOT EXISTS (SELECT FROM {{.Deliveries}} o WHERE o.grp = d.grp AND o.lane = d.lane AND o.id < d.id)`),
	}
}

func claimWhere(condition string) string {
	return `
		WITH due AS MATERIALIZED (
			SELECT id FROM {{.Deliveries}} WHERE grp = $1 AND ` + condition + `
			ORDER BY grp, visible_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
		), taken AS (
			UPDATE {{.Deliveries}} d
			SET visible_at = statement_timestamp() + $3::interval, token = $4, attempt = d.attempt + 1
			FROM due WHERE d.id = due.id AND d.grp = $1
			RETURNING d.id, d.attempt
		)
		SELECT t.id, t.attempt, m.uuid, m.key, m.headers, m.payload, m.created_at
		FROM taken t JOIN {{.Messages}} m ON m.id = t.id ORDER BY t.id`
}

// claimOrdered judges each due delivery: take the oldest of a lane of which
// nothing is out; park what has an older one behind which it may safely wait;
// leave the rest for the next claim. It runs under the lock of the group, so
// no other ordered claim is under way and its snapshot shows what those before
// it did.
//
// Safely: the older one is locked until this transaction ends, so it is
// deleted after that, and the trigger that then looks for the next finds it
// parked. Of two rows of a lane that are both due the older is locked already.
//
// A lease that has run out still counts as out: its owner may be extending it
// right now. Being due, it is locked here, and parked or taken.
//
// Due rows come oldest first. Where those of few lanes fill the view, a second
// look, at the first row of one lane after another from $6 on, finds others
// behind them; $6 is null when it is not needed.
const claimOrdered = `
	WITH RECURSIVE front AS MATERIALIZED (
		SELECT id, lane FROM {{.Deliveries}}
		WHERE grp = $1 AND visible_at <= statement_timestamp()
		ORDER BY grp, visible_at, id LIMIT $5 FOR UPDATE SKIP LOCKED
	), lanes (lane, nth) AS (
		(SELECT lane, 1 FROM {{.Deliveries}} WHERE grp = $1 AND lane >= $6 ORDER BY grp, lane, id LIMIT 1)
		UNION ALL
		SELECT (SELECT d.lane FROM {{.Deliveries}} d WHERE d.grp = $1 AND d.lane > l.lane
			ORDER BY d.grp, d.lane, d.id LIMIT 1), l.nth + 1
		FROM lanes l WHERE l.lane IS NOT NULL AND l.nth < 8 * $2 + 64
	), firsts AS MATERIALIZED (
		SELECT d.id, d.lane
		FROM lanes l
		CROSS JOIN LATERAL (SELECT o.id FROM {{.Deliveries}} o WHERE o.grp = $1 AND o.lane = l.lane
			ORDER BY o.grp, o.lane, o.id LIMIT 1) f
		JOIN {{.Deliveries}} d ON d.id = f.id AND d.grp = $1
		WHERE d.visible_at <= statement_timestamp()
		LIMIT $2 FOR UPDATE OF d SKIP LOCKED
	), ranked AS (
		SELECT id, lane, row_number() OVER (PARTITION BY lane ORDER BY id) AS nth
		FROM (SELECT id, lane FROM front UNION SELECT id, lane FROM firsts) due
	), judged AS MATERIALIZED (
		SELECT r.id, CASE
			WHEN r.lane IS NULL THEN 'take'
			WHEN r.nth > 1 THEN 'park'
			WHEN (SELECT o.id FROM {{.Deliveries}} o
				WHERE o.grp = $1 AND o.lane = r.lane AND o.id < r.id
				ORDER BY o.grp, o.lane, o.id LIMIT 1) IS NOT NULL
			THEN CASE WHEN (SELECT o.id FROM {{.Deliveries}} o
					WHERE o.grp = $1 AND o.lane = r.lane AND o.id < r.id
					ORDER BY o.grp DESC, o.lane DESC, o.id DESC LIMIT 1 FOR KEY SHARE SKIP LOCKED) IS NOT NULL
				THEN 'park' ELSE 'leave' END
			WHEN EXISTS (SELECT FROM {{.Deliveries}} o
				WHERE o.grp = $1 AND o.lane = r.lane AND o.lane IS NOT NULL AND o.token IS NOT NULL AND o.id <> r.id)
			THEN 'leave'
			ELSE 'take' END AS verdict
		FROM ranked r
	), parked AS (
		UPDATE {{.Deliveries}} d SET visible_at = 'infinity', token = NULL
		FROM judged j WHERE j.verdict = 'park' AND d.id = j.id AND d.grp = $1
		RETURNING d.id
	), taken AS (
		UPDATE {{.Deliveries}} d
		SET visible_at = statement_timestamp() + $3::interval, token = $4, attempt = d.attempt + 1
		FROM (SELECT id FROM judged WHERE verdict = 'take' ORDER BY id LIMIT $2) j
		WHERE d.id = j.id AND d.grp = $1
		RETURNING d.id, d.attempt
	)
	SELECT c.due, c.parked, c.next, t.id, t.attempt, m.uuid, m.key, m.headers, m.payload, m.created_at
	FROM (SELECT (SELECT count(*) FROM front) AS due, (SELECT count(*) FROM parked) AS parked,
		(SELECT lane FROM lanes ORDER BY nth DESC LIMIT 1) AS next) c
	LEFT JOIN (taken t JOIN {{.Messages}} m ON m.id = t.id) ON true
	ORDER BY t.id`
