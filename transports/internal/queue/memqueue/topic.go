package memqueue

import (
	"bytes"
	"container/list"
	"slices"
	"time"

	"github.com/idem-go/idem/transports/internal/queue"
)

// stored is a message with the number of groups that still wait for it.
type stored struct {
	queue.Message
	id      int64
	at      time.Time
	topic   *topic
	place   *list.Element
	waiting int
	// acked: the message is in the backend's heap of acknowledged ones.
	acked bool
}

// topic holds its messages, oldest first, and the groups.
type topic struct {
	name     string
	messages *list.List
	groups   map[string]*group
}

func newTopic(name string) *topic {
	return &topic{name: name, messages: list.New(), groups: make(map[string]*group)}
}

func (t *topic) append(s *stored, now time.Time) {
	s.place = t.messages.PushBack(s)
	for _, g := range t.groups {
		g.add(s, now)
	}
}

func (t *topic) register(name string, now time.Time) {
	if t.groups[name] != nil {
		return
	}
	g := newGroup()
	t.groups[name] = g
	for e := t.messages.Front(); e != nil; e = e.Next() {
		g.add(e.Value.(*stored), now)
	}
}

// clone shares no bytes with m: publishers and handlers may change theirs.
func clone(m queue.Message) queue.Message {
	m.Payload = bytes.Clone(m.Payload)
	m.Key = bytes.Clone(m.Key)
	m.Headers = slices.Clone(m.Headers)
	for i := range m.Headers {
		m.Headers[i].Value = bytes.Clone(m.Headers[i].Value)
	}
	return m
}
