package kafka

import (
	"container/heap"
	"time"

	"github.com/IBM/sarama"
)

// record is one fetched message until it is finished.
type record struct {
	offset int64
	// message is nil once the record is finished.
	message *sarama.ConsumerMessage
	// attempt is the number of the delivery under way or to come, from 1.
	attempt int
	// nacks counts all nacks, whether they count as attempts or not.
	nacks int
	// due is when a record that was nacked may go out again.
	due time.Time
}

func (r *record) bytes() int {
	n := len(r.message.Key) + len(r.message.Value)
	for _, h := range r.message.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}

// backlog holds the records of one partition from the lowest unfinished on. It
// knows which may go out next and which offset may be committed. A record is
// ready, out, later or finished, or it waits for the one before it with the
// same key. Not safe for concurrent use.
type backlog struct {
	ordered bool
	window  []*record            // by offset; the first is unfinished
	bytes   int                  // of the unfinished ones
	keys    map[string][]*record // ordered: unfinished records by key; the first may go out
	ready   queue
	later   queue
}

func newBacklog(ordered bool) *backlog {
	return &backlog{
		ordered: ordered,
		keys:    map[string][]*record{},
		ready:   queue{less: func(a, b *record) bool { return a.offset < b.offset }},
		later:   queue{less: func(a, b *record) bool { return a.due.Before(b.due) }},
	}
}

// add takes in the next message; offsets ascend, with holes.
func (b *backlog) add(m *sarama.ConsumerMessage) {
	r := &record{offset: m.Offset, message: m, attempt: 1}
	b.window = append(b.window, r)
	b.bytes += r.bytes()
	if b.sequenced(r) {
		key := string(m.Key)
		b.keys[key] = append(b.keys[key], r)
		if len(b.keys[key]) > 1 {
			return
		}
	}
	heap.Push(&b.ready, r)
}

// sequenced says whether the record has to wait for others with its key.
func (b *backlog) sequenced(r *record) bool { return b.ordered && r.message.Key != nil }

// next takes out the ready record with the lowest offset; nil if there is none.
func (b *backlog) next() *record {
	if b.ready.Len() == 0 {
		return nil
	}
	return heap.Pop(&b.ready).(*record)
}

// putBack makes a record that next returned ready again.
func (b *backlog) putBack(r *record) { heap.Push(&b.ready, r) }

// delay lets a record that next returned go out again at the given time. Its
// key waits with it; other keys do not.
func (b *backlog) delay(r *record, until time.Time) {
	r.due = until
	heap.Push(&b.later, r)
}

// wake makes the records ready whose delay is over, and returns how long it
// takes until the next one; ok is false when none waits.
func (b *backlog) wake(now time.Time) (next time.Duration, ok bool) {
	for b.later.Len() > 0 {
		if d := b.later.records[0].due.Sub(now); d > 0 {
			return d, true
		}
		heap.Push(&b.ready, heap.Pop(&b.later))
	}
	return 0, false
}

// finish ends a record that next returned. When everything below some offset
// is finished now that was not before, it returns that offset and true.
func (b *backlog) finish(r *record) (commit int64, moved bool) {
	if b.sequenced(r) {
		key := string(r.message.Key)
		if rest := b.keys[key][1:]; len(rest) > 0 {
			b.keys[key] = rest
			heap.Push(&b.ready, rest[0])
		} else {
			delete(b.keys, key)
		}
	}
	b.bytes -= r.bytes()
	r.message = nil
	for len(b.window) > 0 && b.window[0].message == nil {
		commit, moved = b.window[0].offset+1, true
		b.window[0] = nil
		b.window = b.window[1:]
	}
	return commit, moved
}

// queue is a heap of records.
type queue struct {
	records []*record
	less    func(a, b *record) bool
}

func (q *queue) Len() int           { return len(q.records) }
func (q *queue) Less(i, j int) bool { return q.less(q.records[i], q.records[j]) }
func (q *queue) Swap(i, j int)      { q.records[i], q.records[j] = q.records[j], q.records[i] }
func (q *queue) Push(x any)         { q.records = append(q.records, x.(*record)) }
func (q *queue) Pop() any {
	last := len(q.records) - 1
	r := q.records[last]
	q.records[last] = nil
	q.records = q.records[:last]
	return r
}
