package opsql

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/idem-go/idem/framework/idem"
)

// ListOutbox implements [idem.Operations].
func (o *Ops) ListOutbox(ctx context.Context, limit int) ([]idem.OutboxEntry, error) {
	return collect(ctx, o, "list of the outbox", o.b.ListOutbox, func(scan scanner) (e idem.OutboxEntry, err error) {
		var key []byte
		var due, leased int64
		err = scan(&e.Seq, &e.ID, &e.Topic, &key, &e.Bytes, &e.Attempts, &due, &leased)
		e.ID, e.Topic = o.b.Untext(e.ID), o.b.Untext(e.Topic)
		e.Key, e.DueIn, e.Leased = string(key), span(due), leased != 0
		return e, err
	}, atMost(limit, 1000, 100))
}

// Condition implements [idem.Operations].
func (o *Ops) Condition(ctx context.Context) (found idem.Condition, err error) {
	found.Want = len(o.b.Migrations)
	err = o.b.Read(ctx, "condition of the database", func(c Conn) error {
		now, err := o.number(ctx, c, `SELECT {now}`)
		if err != nil {
			return err
		}
		found.Now = micros(now)
		if found.Version, err = o.b.Version(ctx, c); err != nil {
			return err
		}
		have, err := o.b.Indexes(ctx, c)
		if err != nil {
			return err
		}
		for _, name := range o.indexesUpTo(found.Version) {
			if !slices.Contains(have, name) {
				found.MissingIndexes = append(found.MissingIndexes, name)
			}
		}
		return nil
	})
	return found, err
}

var createIndex = regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?INDEX (\S+)`)

// indexesUpTo returns the indexes that the migrations up to a version make.
func (o *Ops) indexesUpTo(version int) []string {
	var names []string
	for _, text := range o.b.Migrations[:min(version, len(o.b.Migrations))] {
		for _, m := range createIndex.FindAllStringSubmatch(o.sql(text), -1) {
			names = append(names, strings.Trim(m[1], `"`))
		}
	}
	return names
}

// Names returns the values of the only column of a query.
func Names(ctx context.Context, c Conn, query string, args ...any) (names []string, err error) {
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("name: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Tidy implements [idem.Operations].
func (o *Ops) Tidy(ctx context.Context, limit int) (int, error) {
	var removed int64
	err := o.b.Write(ctx, "tidy", func(c Conn) error {
		for text, arg := range map[string]int64{
			`DELETE FROM {sightings} WHERE (consumer, key, cause, source) IN
				(SELECT consumer, key, cause, source FROM {sightings} WHERE expires_at <= {now} ORDER BY expires_at LIMIT $1)`: int64(limit),
			`DELETE FROM {presence} WHERE seen_at < {now} - $1`: idem.PresenceKept.Microseconds(),
		} {
			n, err := c.Exec(ctx, o.sql(text), arg)
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	return int(removed), err
}
