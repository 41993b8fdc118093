package queue

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Options tune a [Transport]. The zero value is useful.
type Options struct {
	// Lease is how long a claimed message stays hidden when its owner dies
	// and the subscriber does not say otherwise; 0 means 30 s, the least is
	// 50 ms.
	Lease time.Duration
	// PollInterval is how long an idle subscriber waits for a wake-up before
	// it looks by itself; 0 means 250 ms.
	PollInterval time.Duration
	// Retention is how long acknowledged messages are kept for groups that
	// are yet to come; 0 means 168 h.
	Retention time.Duration
	// CleanEvery is the pause between two clean-ups; 0 means 1 min.
	CleanEvery time.Duration
	// MaxMessageBytes bounds key, headers and payload together; 0 means 16 MiB.
	MaxMessageBytes int
	// PublishTimeout bounds one transaction of a publish; 0 means 30 s.
	PublishTimeout time.Duration
	// LocksOutClaims says that a handler's transaction keeps everybody from
	// claiming, and us from renewing (SQLite has one writer): a lease that
	// could not be renewed in time is then lost only when Extend says so.
	LocksOutClaims bool
	// Logger takes what nobody else is told; nil means slog.Default().
	Logger *slog.Logger
}

const leastLease = 50 * time.Millisecond

func (o Options) withDefaults() Options {
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.PollInterval = cmp.Or(o.PollInterval, 250*time.Millisecond)
	o.Retention = cmp.Or(o.Retention, 168*time.Hour)
	o.CleanEvery = cmp.Or(o.CleanEvery, time.Minute)
	o.MaxMessageBytes = cmp.Or(o.MaxMessageBytes, 16<<20)
	o.PublishTimeout = cmp.Or(o.PublishTimeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// Validate says which fields make no sense, all of them at once.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	check := func(ok bool, field, must string, got any) {
		if !ok {
			errs = append(errs, fmt.Errorf("queue: %s must be %s, is %v", field, must, got))
		}
	}
	check(o.Lease >= leastLease, "Lease", "at least "+leastLease.String(), o.Lease)
	check(o.PollInterval >= time.Millisecond, "PollInterval", "at least 1ms", o.PollInterval)
	check(o.Retention > 0, "Retention", "positive", o.Retention)
	check(o.CleanEvery >= time.Millisecond, "CleanEvery", "at least 1ms", o.CleanEvery)
	check(o.MaxMessageBytes > 0, "MaxMessageBytes", "positive", o.MaxMessageBytes)
	check(o.PublishTimeout > 0, "PublishTimeout", "positive", o.PublishTimeout)
	return errors.Join(errs...)
}
