package queue

import (
	"context"
	"sync"
)

// slots counts how many more messages a subscriber may have in hand.
type slots struct {
	mu    sync.Mutex
	free  int
	freed chan struct{} // closed when slots were given back
}

func newSlots(n int) *slots { return &slots{free: n, freed: make(chan struct{})} }

// take waits for a free slot and takes all that are free, so that one claim
// can fill them; 0 when ctx has ended.
func (s *slots) take(ctx context.Context) int {
	for ctx.Err() == nil {
		s.mu.Lock()
		n, freed := s.free, s.freed
		s.free = 0
		s.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
	return 0
}

// give returns n slots.
func (s *slots) give(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free += n
	close(s.freed)
	s.freed = make(chan struct{})
}
