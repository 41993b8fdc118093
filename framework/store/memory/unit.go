package memory

import (
	"errors"
	"time"

	"github.com/idem-go/idem/framework/idem"
)

// unit is a unit of work: everything it writes is staged here and applied at
// once by commit.
type unit struct {
	store  *Store
	native *Tx
	locked []lockKey
	ended  bool

	records map[recordID]record
	out     []idem.Outgoing
	letters map[string]*idem.DeadLetter
	parked  []string // new ones of letters, in order
	later   []func(now time.Time)
}

var _ idem.Tx = (*unit)(nil)

func newUnit(s *Store) *unit {
	u := &unit{store: s, records: map[recordID]record{}, letters: map[string]*idem.DeadLetter{}}
	u.native = &Tx{unit: u, set: map[string]*string{}, add: map[string]int64{}}
	return u
}

// Native implements [idem.Tx] and returns a [*Tx].
func (u *unit) Native() any { return u.native }

// commit applies the staged writes while nobody else reads.
func (u *unit) commit() {
	s := u.store
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, r := range u.records {
		s.records[id] = r
	}
	for _, o := range u.out {
		s.append(o, now)
	}
	for id, d := range u.letters {
		s.letters[id] = d
	}
	s.parked = append(s.parked, u.parked...)
	for _, f := range u.later {
		f(now)
	}
	u.native.apply(s)
	if len(u.out) > 0 {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}

// end makes the unit unusable and lets the next holders of its keys go on.
func (u *unit) end() {
	u.ended = true
	u.store.locks.release(u.locked)
}

func (u *unit) alive() error {
	if u.ended {
		return idem.Bug(errors.New("memory: use of a transaction that has ended; do not keep it beyond the handler"))
	}
	return nil
}
