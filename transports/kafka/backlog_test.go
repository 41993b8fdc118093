package kafka

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func rec(offset int64, key string) *sarama.ConsumerMessage {
	m := &sarama.ConsumerMessage{Topic: "t", Partition: 7, Offset: offset, Value: []byte(fmt.Sprint(offset))}
	if key != "" {
		m.Key = []byte(key)
	}
	return m
}

// drainReady takes out all ready records and returns them by offset.
func drainReady(b *backlog) map[int64]*record {
	out := map[int64]*record{}
	for r := b.next(); r != nil; r = b.next() {
		out[r.offset] = r
	}
	return out
}

func offsets(m map[int64]*record) []int64 {
	var out []int64
	for o := range m {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

func TestCommitStopsBelowTheLowestUnfinished(t *testing.T) {
	b := newBacklog(true)
	// 11 to 14 are a hole, as transaction markers and compaction leave them.
	for _, o := range []int64{10, 15, 16} {
		b.add(rec(o, ""))
	}
	out := drainReady(b)
	for _, step := range []struct {
		finish, commit int64
		moved          bool
	}{
		{16, 0, false},
		{10, 11, true},
		{15, 17, true},
	} {
		if commit, moved := b.finish(out[step.finish]); commit != step.commit || moved != step.moved {
			t.Errorf("finish(%d) = %d, %v; want %d, %v", step.finish, commit, moved, step.commit, step.moved)
		}
	}
	if len(b.window) != 0 || b.bytes != 0 || len(b.keys) != 0 {
		t.Errorf("left over: window %d, bytes %d, keys %d", len(b.window), b.bytes, len(b.keys))
	}
}

func TestOneKeyGoesOutInOrder(t *testing.T) {
	b := newBacklog(true)
	for i, key := range []string{"a", "a", "b", "", "", "a"} {
		b.add(rec(int64(i), key))
	}
	out := drainReady(b)
	if got, want := offsets(out), []int64{0, 2, 3, 4}; !slices.Equal(got, want) {
		t.Fatalf("ready: %v, want %v: the first of each key, and all without a key", got, want)
	}
	now := time.Now()
	b.delay(out[0], now.Add(time.Second))
	if got := offsets(drainReady(b)); got != nil {
		t.Errorf("ready while the first of the key waits: %v", got)
	}
	if d, ok := b.wake(now); d != time.Second || !ok {
		t.Errorf("wake = %v, %v; want 1s, true", d, ok)
	}
	b.wake(now.Add(time.Second))
	if out = drainReady(b); !slices.Equal(offsets(out), []int64{0}) {
		t.Fatalf("ready after the delay: %v, want [0]", offsets(out))
	}
	b.finish(out[0])
	if out = drainReady(b); !slices.Equal(offsets(out), []int64{1}) {
		t.Errorf("ready after the first finished: %v, want [1]", offsets(out))
	}
}

func TestWithoutOrderADelayHoldsNothingBack(t *testing.T) {
	b := newBacklog(false)
	for i := range int64(3) {
		b.add(rec(i, "a"))
	}
	b.delay(b.next(), time.Now().Add(time.Hour))
	if got, want := offsets(drainReady(b)), []int64{1, 2}; !slices.Equal(got, want) {
		t.Errorf("ready: %v, want %v", got, want)
	}
}

func TestAnEmptyKeyIsAKey(t *testing.T) {
	b := newBacklog(true)
	for i := range int64(2) {
		m := rec(i, "")
		m.Key = []byte{}
		b.add(m)
	}
	if got, want := offsets(drainReady(b)), []int64{0}; !slices.Equal(got, want) {
		t.Errorf("ready: %v, want %v", got, want)
	}
}

// Whatever order records finish, fail and come back in: the commit never
// passes an unfinished one, never goes back, and ends at the end; and one key
// is never out twice.
func TestBacklogKeepsItsPromisesInAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		b := newBacklog(true)
		finished := map[int64]bool{}
		lastOfKey := map[string]int64{}
		var all []int64
		var out []*record
		next, committed, clock := int64(0), int64(0), time.Now()
		for len(finished) < 60 {
			switch rng.IntN(4) {
			case 0:
				if len(all) < 60 {
					next += 1 + rng.Int64N(3)
					all = append(all, next)
					b.add(rec(next, string(rune('a'+rng.IntN(5)))))
				}
			case 1:
				if r := b.next(); r != nil {
					for _, o := range out {
						if string(o.message.Key) == string(r.message.Key) {
							t.Fatalf("seed %d: two of key %q are out: %d and %d", seed, r.message.Key, o.offset, r.offset)
						}
					}
					out = append(out, r)
				}
			case 2:
				if len(out) == 0 {
					continue
				}
				i := rng.IntN(len(out))
				r := out[i]
				out = slices.Delete(out, i, i+1)
				if rng.IntN(3) == 0 {
					b.delay(r, clock.Add(time.Duration(rng.IntN(5))*time.Second))
					continue
				}
				key := string(r.message.Key)
				if r.offset < lastOfKey[key] {
					t.Fatalf("seed %d: key %q: %d finished after %d", seed, key, r.offset, lastOfKey[key])
				}
				lastOfKey[key] = r.offset
				finished[r.offset] = true
				commit, moved := b.finish(r)
				if !moved {
					continue
				}
				if commit <= committed {
					t.Fatalf("seed %d: commit went from %d to %d", seed, committed, commit)
				}
				committed = commit
				for _, o := range all {
					if o < commit && !finished[o] {
						t.Fatalf("seed %d: commit %d passes unfinished %d", seed, commit, o)
					}
				}
			case 3:
				clock = clock.Add(time.Second)
				b.wake(clock)
			}
		}
		if committed != all[len(all)-1]+1 {
			t.Fatalf("seed %d: committed %d at the end, want %d", seed, committed, all[len(all)-1]+1)
		}
	}
}

func TestSpacingGrowsWithinBounds(t *testing.T) {
	const base, limit = 100 * time.Millisecond, 30 * time.Second
	for _, tc := range []struct {
		n    int
		full time.Duration
	}{
		{-1, base}, {0, base}, {1, base}, {2, 2 * base}, {9, 256 * base}, {10, limit}, {64, limit}, {1 << 40, limit},
	} {
		for range 50 {
			if d := spacing(tc.n, base, limit); d < tc.full/2 || d > tc.full {
				t.Errorf("spacing(%d) = %v, want %v to %v", tc.n, d, tc.full/2, tc.full)
			}
		}
	}
}
