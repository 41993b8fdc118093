package memory

import "maps"

// Tx is the store's native transaction: a small table of texts and one of
// counters, so that tests and demos have business data that commits and rolls
// back with the message. Like *sql.Tx it must not be used after the handler
// has returned; that panics.
//
// Writes are staged until the commit. Reads see the transaction's own writes
// and what others have committed; two transactions that Get and then Set the
// same row can lose a write, as in a database at read committed. Add cannot.
type Tx struct {
	unit *unit
	set  map[string]*string // nil is deleted
	add  map[string]int64
}

// Set writes a row.
func (t *Tx) Set(key, value string) {
	t.check()
	t.set[key] = &value
}

// Delete removes a row.
func (t *Tx) Delete(key string) {
	t.check()
	t.set[key] = nil
}

// Get reads a row.
func (t *Tx) Get(key string) (value string, ok bool) {
	t.check()
	if v, staged := t.set[key]; staged {
		if v == nil {
			return "", false
		}
		return *v, true
	}
	return t.unit.store.Get(key)
}

// Add adds n to a counter, which starts at 0.
func (t *Tx) Add(counter string, n int64) {
	t.check()
	t.add[counter] += n
}

// Sum reads a counter.
func (t *Tx) Sum(counter string) int64 {
	t.check()
	return t.unit.store.Sum(counter) + t.add[counter]
}

func (t *Tx) check() {
	if t.unit.ended {
		panic("memory: use of a transaction that has ended; do not keep it beyond the handler")
	}
}

// apply writes the staged rows. The caller holds s.mu.
func (t *Tx) apply(s *Store) {
	for key, v := range t.set {
		if v == nil {
			delete(s.table, key)
		} else {
			s.table[key] = *v
		}
	}
	for counter, n := range t.add {
		s.counters[counter] += n
	}
}

// Get reads a committed row.
func (s *Store) Get(key string) (value string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, ok = s.table[key]
	return value, ok
}

// Sum reads a committed counter.
func (s *Store) Sum(counter string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counters[counter]
}

// Sums returns a copy of the committed counters.
func (s *Store) Sums() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counters)
}

// Rows returns a copy of the committed rows.
func (s *Store) Rows() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.table)
}
