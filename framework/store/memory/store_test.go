package memory_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faults fails the next call at a point.
type faults struct {
	mu   sync.Mutex
	next map[memory.Point]error
}

func (f *faults) at(p memory.Point) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.next[p]
	delete(f.next, p)
	return err
}

func (f *faults) arm(p memory.Point) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = map[memory.Point]error{p: errBroken}
}

var errBroken = errors.New("connection reset")

func TestStore(t *testing.T) {
	var hooks sync.Map // idem.Store → *faults
	open := func(t *testing.T) idem.Store {
		f := &faults{}
		s := memory.New(memory.Config{ClaimWait: time.Second, Fault: f.at})
		hooks.Store(s, f)
		return s
	}
	storetest.Run(t, open, storetest.Options{
		Effect: func(_ context.Context, tx idem.Tx, id string) error {
			tx.Native().(*memory.Tx).Add(id, 1)
			return nil
		},
		Count:  func(_ *testing.T, s idem.Store, id string) int { return int(s.(*memory.Store).Sum(id)) },
		Bubble: synctest.Test,
		BreakCommit: func(_ *testing.T, s idem.Store, applied bool) {
			f, _ := hooks.Load(s)
			if applied {
				f.(*faults).arm(memory.LostReply)
			} else {
				f.(*faults).arm(memory.LostCommit)
			}
		},
	})
}
