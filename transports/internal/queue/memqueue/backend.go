// Package memqueue is the [queue.Backend] in the memory of one process: the
// reference that the backends in databases are compared with, and what the
// subscriber is tested with. It works inside a testing/synctest bubble.
package memqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/idem-go/idem/transports/internal/queue"
)

// Backend is a [queue.Backend]. One lock guards everything; nothing under it
// takes more than a few steps down a heap for each message it touches.
type Backend struct {
	mu       sync.Mutex
	limit    int
	lastID   int64
	tokens   int64
	topics   map[string]*topic
	messages map[int64]*stored
	// acked holds the messages that every group has acknowledged, oldest
	// first. One for which a new group waits is left out when its turn comes.
	acked heapOf[*stored]
	wakes queue.Wakes
}

var _ queue.Backend = (*Backend)(nil)

// New returns an empty queue for at most limit messages. Acknowledged ones are
// removed early when there is no room; after that, Publish fails.
func New(limit int) *Backend {
	return &Backend{
		limit:    limit,
		topics:   make(map[string]*topic),
		messages: make(map[int64]*stored),
		acked: heapOf[*stored]{
			less:  func(a, b *stored) bool { return a.id < b.id },
			moved: func(*stored, int) {},
		},
	}
}

func (b *Backend) topic(name string) *topic {
	t := b.topics[name]
	if t == nil {
		t = newTopic(name)
		b.topics[name] = t
	}
	return t
}

// Publish appends messages.
func (b *Backend) Publish(ctx context.Context, topic string, msgs []queue.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if missing := len(b.messages) + len(msgs) - b.limit; missing > 0 && b.clean(now, missing) < missing {
		return fmt.Errorf("the queue is full with %d messages: consume them, or raise MaxMessages", len(b.messages))
	}
	t := b.topic(topic)
	for _, m := range msgs {
		b.lastID++
		s := &stored{Message: clone(m), id: b.lastID, at: now, topic: t}
		b.messages[s.id] = s
		t.append(s, now)
	}
	b.wakes.Send(topic)
	return nil
}

// retire notes that every group has acknowledged s, if so. A message of a topic
// without groups is still to be delivered.
func (b *Backend) retire(s *stored) {
	if s.waiting == 0 && !s.acked && len(s.topic.groups) > 0 {
		s.acked = true
		b.acked.push(s)
	}
}

// Register adds a group with everything that is stored.
func (b *Backend) Register(_ context.Context, topic, group string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.topic(topic).register(group, time.Now())
	return nil
}

func (b *Backend) group(topic, name string) *group {
	if t := b.topics[topic]; t != nil {
		return t.groups[name]
	}
	return nil
}

// Claim leases due deliveries.
func (b *Backend) Claim(ctx context.Context, r queue.ClaimRequest) ([]queue.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.group(r.Topic, r.Group)
	if g == nil {
		return nil, nil
	}
	var out []queue.Delivery
	for _, d := range g.claim(r.N, r.Ordered, time.Now(), r.Lease) {
		b.tokens++
		d.token = strconv.FormatInt(b.tokens, 10)
		out = append(out, queue.Delivery{
			Lease:   queue.Lease{ID: d.msg.id, Group: r.Group, Token: d.token},
			Message: clone(d.msg.Message), Attempt: d.attempt, EnqueuedAt: d.msg.at,
		})
	}
	return out, nil
}

// NextDue looks at the delivery that becomes due first.
func (b *Backend) NextDue(_ context.Context, topic, group string) (time.Duration, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.group(topic, group)
	if g == nil {
		return 0, false, nil
	}
	at, ok := g.nextDue()
	if !ok {
		return 0, false, nil
	}
	return max(time.Until(at), 0), true, nil
}

// find returns the delivery that l leases, nil when the lease is lost.
func (b *Backend) find(l queue.Lease) (*group, *delivery) {
	s := b.messages[l.ID]
	if s == nil {
		return nil, nil
	}
	g := s.topic.groups[l.Group]
	if g == nil {
		return nil, nil
	}
	d := g.byID[l.ID]
	if d == nil || d.token == "" || d.token != l.Token {
		return nil, nil
	}
	return g, d
}

// Ack removes deliveries.
func (b *Backend) Ack(ctx context.Context, leases ...queue.Lease) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range leases {
		if g, d := b.find(l); d != nil {
			g.remove(d, time.Now())
			b.retire(d.msg)
		}
	}
	return nil
}

// Release gives deliveries back.
func (b *Backend) Release(ctx context.Context, releases ...queue.Release) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, r := range releases {
		if g, d := b.find(r.Lease); d != nil {
			g.release(d, r.Counted, now.Add(r.After), now)
		}
	}
	return nil
}

// Extend prolongs leases.
func (b *Backend) Extend(ctx context.Context, lease time.Duration, leases ...queue.Lease) (lost []queue.Lease, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, l := range leases {
		g, d := b.find(l)
		if d == nil {
			lost = append(lost, l)
			continue
		}
		d.due = now.Add(lease)
		g.sort(d, now)
	}
	return lost, nil
}

// AckTx always fails: no store shares this memory.
func (b *Backend) AckTx(context.Context, any, ...queue.Lease) error {
	return errors.New("memqueue: the queue shares no database with a store")
}

// Wake announces what is published.
func (b *Backend) Wake(topic string) (<-chan struct{}, func()) { return b.wakes.Add(topic) }

// Clean removes acknowledged messages.
func (b *Backend) Clean(_ context.Context, retention time.Duration, limit int) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	until := time.Now().Add(-retention)
	n := b.clean(until, limit)
	for _, t := range b.topics {
		for e := t.messages.Front(); e != nil && len(t.groups) == 0 && n < limit; e = t.messages.Front() {
			if e.Value.(*stored).at.After(until) {
				break
			}
			b.remove(e.Value.(*stored))
			n++
		}
	}
	return n, nil
}

func (b *Backend) remove(s *stored) {
	s.topic.messages.Remove(s.place)
	delete(b.messages, s.id)
}

// clean removes up to n acknowledged messages that are not younger than the
// given time.
func (b *Backend) clean(until time.Time, n int) (removed int) {
	for removed < n {
		s, ok := b.acked.peek()
		if !ok || s.at.After(until) {
			break
		}
		b.acked.pop()
		s.acked = false
		if s.waiting == 0 {
			b.remove(s)
			removed++
		}
	}
	return removed
}

// Depth counts what the group has not acknowledged.
func (b *Backend) Depth(_ context.Context, topic, group string) (int, time.Duration, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.group(topic, group)
	if g == nil {
		return 0, 0, nil
	}
	at, ok := g.oldest()
	if !ok {
		return 0, 0, nil
	}
	return len(g.byID), time.Since(at), nil
}

// Database is "": no store shares this memory.
func (b *Backend) Database() string { return "" }

// Ping always succeeds.
func (b *Backend) Ping(context.Context) error { return nil }

// Close does nothing.
func (b *Backend) Close() error { return nil }
