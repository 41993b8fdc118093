package queue

import (
	"context"
	"time"
)

// cleanBatch is how many messages one transaction of the cleaner removes.
const cleanBatch = 500

// clean starts the cleaner unless it runs.
func (t *Transport) clean() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.cleaning {
		return
	}
	t.cleaning = true
	t.work.Go(func() {
		// Jitter keeps processes that start together from cleaning together.
		for sleep(t.life, jitter(t.o.CleanEvery)) {
			t.cleanAll()
		}
	})
}

func (t *Transport) cleanAll() {
	for {
		ctx, cancel := context.WithTimeout(t.life, callTimeout)
		n, err := t.b.Clean(ctx, t.o.Retention, cleanBatch)
		cancel()
		switch {
		case t.life.Err() != nil:
			return
		case err != nil:
			t.o.Logger.Warn("queue: cannot remove old messages, will try again", "transport", t.name, "error", err)
			return
		case n < cleanBatch:
			return
		}
		// A large backlog is removed with gaps in which others may write.
		if !sleep(t.life, 10*time.Millisecond) {
			return
		}
	}
}
