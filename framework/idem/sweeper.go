package idem

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// sweeper removes expired keys in small batches, so that no lock is held long.
type sweeper struct {
	store Store
	every time.Duration
	log   *slog.Logger
}

const sweepBatch = 5000

// Run sweeps until ctx ends. The first sweep waits a whole interval, so that
// what a restart redelivers is compared with the keys of before the restart.
func (s sweeper) Run(ctx context.Context) error {
	for sleep(ctx, s.every+Jitter(s.every/4, rand.Float64())) {
		for {
			n, err := s.store.Sweep(ctx, sweepBatch)
			if err != nil && ctx.Err() == nil {
				s.log.Warn("idem: sweep failed", "error", Summary(err))
			}
			if err != nil || n < sweepBatch {
				break
			}
		}
	}
	return nil
}
