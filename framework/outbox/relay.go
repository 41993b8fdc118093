// Package outbox publishes what handlers emitted: the rows that committed
// together with their effects. The same rows, with a delay, are the delayed
// retries of brokers that have none, and the copies of dead letters.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Config is what a [Relay] needs.
type Config struct {
	// Store and Publisher are required.
	Store     idem.Outbox
	Publisher message.Publisher
	// Batch is how many rows are leased and published at once. 0 means 100.
	Batch int
	// Lease is how long leased rows stay hidden from other relays when this
	// one dies. 0 means 30 s.
	Lease time.Duration
	// Poll is how often rows written by other processes, or due by now, are
	// looked for. Rows of this process are published at once. 0 means 200 ms.
	Poll time.Duration
	// Backoff spaces the publishes of a row that fails. The zero value is 200 ms to 30 s.
	Backoff idem.Backoff
	// Step is told of every row that is leased, published and removed; nil is none.
	Step idem.StepFunc
	// Logger; nil means slog.Default().
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Batch == 0 {
		c.Batch = 100
	}
	if c.Lease == 0 {
		c.Lease = 30 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 200 * time.Millisecond
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Backoff = c.Backoff.WithDefaults()
	return c
}

// Validate returns every problem, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("outbox: "+format, args...))
		}
	}
	check(c.Store != nil, "store is nil")
	check(c.Publisher != nil, "publisher is nil")
	check(c.Batch > 0, "batch must be positive, is %d", c.Batch)
	check(c.Lease > 0, "lease must be positive, is %v", c.Lease)
	check(c.Poll > 0, "poll must be positive, is %v", c.Poll)
	if err := c.Backoff.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("outbox: backoff: %w", err))
	}
	return errors.Join(errs...)
}

// Relay moves rows from the outbox to the broker. Any number may run on one
// store. It publishes at least once, rows of one topic and key in the order
// they were written; a crash between publish and bookkeeping repeats a row
// under the same message id.
type Relay struct{ cfg Config }

// New returns a relay; it does nothing before Run.
func New(cfg Config) (*Relay, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Relay{cfg: cfg.withDefaults()}, nil
}

// Run publishes until ctx ends; what is being published then is finished.
func (r *Relay) Run(ctx context.Context) error {
	failures := 0
	for {
		n, err := r.Drain(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // we were told to end; what is left is published by the next relay
		case err != nil:
			failures++
			r.cfg.Logger.Warn("outbox: relay failed", "error", idem.Summary(err), "failures", failures)
		default:
			failures = 0
		}
		if n == r.cfg.Batch && err == nil {
			continue
		}
		wait := r.cfg.Poll
		if failures > 0 {
			wait += idem.Jitter(r.cfg.Backoff.Cap(failures), rand.Float64())
		}
		if !r.wait(ctx, wait, failures == 0) {
			return nil
		}
	}
}

func (r *Relay) wait(ctx context.Context, d time.Duration, wakeable bool) bool {
	var wake <-chan struct{}
	if wakeable {
		wake = r.cfg.Store.OutboxWake()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-t.C:
	}
	return true
}

// Drain leases one batch, publishes it and returns how many rows it leased.
// An error means that something is left; it will be tried again.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	rows, err := r.cfg.Store.LeaseOutbox(ctx, r.cfg.Batch, r.cfg.Lease)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	r.reached(ctx, idem.StepRelayLeased, rows)
	// From here on the end of ctx must not leave published rows unmarked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.Lease*2/3)
	defer cancel()
	var errs []error
	for _, group := range byTopic(rows) {
		errs = append(errs, r.publish(ctx, group))
	}
	return len(rows), errors.Join(errs...)
}

// publish sends the rows of one topic together, and one by one when that
// fails, so that a row the broker refuses holds back only its own key.
func (r *Relay) publish(ctx context.Context, rows []idem.OutboxRow) error {
	err := r.send(ctx, rows)
	if err == nil {
		return r.mark(ctx, rows)
	}
	if len(rows) == 1 {
		return r.postpone(ctx, err, rows)
	}
	var errs []error
	var done, refused, behind []idem.OutboxRow
	held := map[string]bool{}
	for i, row := range rows {
		if len(refused) > 0 && len(done) == 0 && i >= outageAfter || ctx.Err() != nil {
			behind = append(behind, rows[i:]...) // the broker is down, not a row refused
			break
		}
		if row.Key != nil && held[string(row.Key)] {
			behind = append(behind, row)
			continue
		}
		if sendErr := r.send(ctx, []idem.OutboxRow{row}); sendErr != nil {
			err = sendErr
			refused = append(refused, row)
			if row.Key != nil {
				held[string(row.Key)] = true
			}
			continue
		}
		done = append(done, row)
	}
	if len(done) > 0 {
		errs = append(errs, r.mark(ctx, done))
	}
	if len(behind) > 0 {
		errs = append(errs, r.cfg.Store.Postponed(ctx, 0, behind...))
	}
	if len(refused) > 0 {
		errs = append(errs, r.postpone(ctx, err, refused))
	}
	return errors.Join(errs...)
}

// outageAfter is how many rows must fail, with none published, to tell an
// outage from a refusal.
const outageAfter = 3

func (r *Relay) send(ctx context.Context, rows []idem.OutboxRow) error {
	msgs := make([]*message.Message, len(rows))
	for i, row := range rows {
		msgs[i] = message.NewMessage(row.ID, row.Payload)
		msgs[i].Metadata = idem.Metadata(row.Headers)
		msgs[i].SetContext(idem.WithEnvelope(ctx, idem.Envelope{Key: row.Key, Headers: row.Headers}))
	}
	err := r.cfg.Publisher.Publish(rows[0].Topic, msgs...)
	if err == nil {
		r.reached(ctx, idem.StepRelayPublished, rows)
	}
	return err
}

// mark removes rows that were published.
func (r *Relay) mark(ctx context.Context, rows []idem.OutboxRow) error {
	err := r.cfg.Store.Published(ctx, rows...)
	if err == nil {
		r.reached(ctx, idem.StepRelayMarked, rows)
	}
	return err
}

func (r *Relay) reached(ctx context.Context, s idem.Step, rows []idem.OutboxRow) {
	if r.cfg.Step == nil {
		return
	}
	for _, row := range rows {
		r.cfg.Step(ctx, idem.StepEvent{Step: s, Topic: row.Topic, MessageID: row.ID})
	}
}

// postpone gives rows back that could not be published, each after a delay of
// its own, and tells of them once.
func (r *Relay) postpone(ctx context.Context, cause error, rows []idem.OutboxRow) error {
	first := rows[0]
	r.cfg.Logger.Error("outbox: publish failed", "topic", first.Topic, "message_id", first.ID, "rows", len(rows),
		"failures", first.Attempts+1, "error", idem.Summary(cause))
	errs := []error{fmt.Errorf("outbox: publish to %q: %w", first.Topic, cause)}
	for _, row := range rows {
		delay := idem.Jitter(r.cfg.Backoff.Cap(row.Attempts+1), rand.Float64())
		errs = append(errs, r.cfg.Store.Postponed(ctx, delay, row))
	}
	return errors.Join(errs...)
}

// byTopic groups rows by topic; the order within a topic stays.
func byTopic(rows []idem.OutboxRow) [][]idem.OutboxRow {
	index := map[string]int{}
	var out [][]idem.OutboxRow
	for _, row := range rows {
		i, ok := index[row.Topic]
		if !ok {
			i = len(out)
			index[row.Topic] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], row)
	}
	return out
}
