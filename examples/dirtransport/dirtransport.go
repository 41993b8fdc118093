// Package dirtransport is a transport as somebody else would write it: topics are
// folders, messages are files. It is slow, it is right, and the conformance kit
// says so (see the test).
//
//	TOPIC/<number>.json             a message; the numbers are the order
//	TOPIC/GROUP/<number>.claim      who works on it; modified at the end of the lease, or of its delay
//	TOPIC/GROUP/<number>.done       the group has acknowledged it
package dirtransport

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/idem-go/idem/framework/idem"
)

// Transport is a folder. It is safe for concurrent use by many processes.
type Transport struct{ dir string }

// New returns the transport of a folder.
func New(dir string) *Transport { return &Transport{dir} }

// file is what a message's file has in it.
type file struct {
	UUID     string
	At       time.Time
	Envelope idem.Envelope
	Payload  []byte
}

func (t *Transport) Name() string                 { return "dir" }
func (t *Transport) Ping(context.Context) error   { _, err := os.Stat(t.dir); return err }
func (t *Transport) Close() error                 { return nil }
func (t *Transport) Publisher() message.Publisher { return publisher{t} }
func (t *Transport) path(topic string) string {
	return filepath.Join(t.dir, hex.EncodeToString([]byte(topic)))
}
func (t *Transport) EnsureTopics(context.Context, ...string) error { return nil }

// Capabilities says what a folder can do.
func (t *Transport) Capabilities() idem.Capabilities {
	return idem.Capabilities{ConsumerGroups: true, OrderedByKey: true, DurableDelay: true}
}

type publisher struct{ t *Transport }

func (publisher) Close() error { return nil } // everybody shares it

// Publish writes each message beside its place and moves it there: nobody sees
// half of one, and a number that is taken is tried again.
func (p publisher) Publish(topic string, msgs ...*message.Message) error {
	dir := p.t.path(topic)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, msg := range msgs {
		text, err := json.Marshal(file{msg.UUID, time.Now(), idem.EnvelopeOf(msg), msg.Payload})
		if err != nil {
			return err
		}
		temp := filepath.Join(dir, "."+rand.Text())
		if err := os.WriteFile(temp, text, 0o644); err != nil {
			return err
		}
		for err = fs.ErrExist; errors.Is(err, fs.ErrExist); {
			err = os.Link(temp, filepath.Join(dir, fmt.Sprintf("%020d.json", time.Now().UnixNano())))
		}
		if err = errors.Join(err, os.Remove(temp)); err != nil {
			return err
		}
	}
	return nil
}

// Subscriber makes the subscriber of one group.
func (t *Transport) Subscriber(c idem.SubscriberConfig) (message.Subscriber, error) {
	if c.Lease == 0 {
		c.Lease = 30 * time.Second
	}
	s := &subscriber{t: t, c: c, slots: make(chan struct{}, max(c.Concurrency, 1))}
	s.intake, s.stop = context.WithCancel(context.Background())
	return s, nil
}

type subscriber struct {
	t      *Transport
	c      idem.SubscriberConfig
	slots  chan struct{} // one for each message that may be unsettled
	intake context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
}

// Subscribe delivers a topic until ctx or the subscriber ends.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if err := os.MkdirAll(s.folder(topic), 0o755); err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	s.work.Go(func() {
		defer close(out)
		var unsettled sync.WaitGroup
		defer unsettled.Wait()
		for ctx.Err() == nil && s.intake.Err() == nil {
			if s.c.Gate != nil && s.c.Gate.Wait(s.intake) != nil {
				return
			}
			for _, h := range s.claim(topic) {
				s.hand(ctx, topic, h, out, &unsettled)
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-s.intake.Done():
			}
		}
	})
	return out, nil
}

// Close stops intake and waits for what is in hand.
func (s *subscriber) Close() error { s.stop(); s.work.Wait(); return nil }

func (s *subscriber) folder(topic string) string {
	return filepath.Join(s.t.path(topic), hex.EncodeToString([]byte(s.c.Group)))
}

// held is a message that is ours for the time being.
type held struct {
	name, token string
	file
}

// claim takes as many messages as there are slots: of each key the oldest that is
// not done, if nobody has it.
func (s *subscriber) claim(topic string) (out []held) {
	names, err := filepath.Glob(filepath.Join(s.t.path(topic), "*.json"))
	if err != nil {
		return nil
	}
	busy := map[string]bool{}
	for _, path := range names { // Glob sorts them
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if exists(s.mark(topic, name, ".done")) {
			continue
		}
		text, err := os.ReadFile(path)
		h := held{name: name}
		if err != nil || json.Unmarshal(text, &h.file) != nil {
			continue // a publisher's own affair; it is never half of one
		}
		if key := h.Envelope.Key; s.c.Ordered && key != nil {
			if busy[string(key)] {
				continue
			}
			busy[string(key)] = true
		}
		select {
		case s.slots <- struct{}{}:
		default:
			return out
		}
		if h.token = s.take(topic, name); h.token == "" {
			<-s.slots
			continue
		}
		out = append(out, h)
	}
	return out
}

func (s *subscriber) mark(topic, name, kind string) string {
	return filepath.Join(s.folder(topic), name+kind)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// take makes the claim ours if it is free; only one process can move an old one
// away, and only one can make a new one.
func (s *subscriber) take(topic, name string) (token string) {
	claim := s.mark(topic, name, ".claim")
	if info, err := os.Stat(claim); err == nil {
		if info.ModTime().After(time.Now()) {
			return ""
		}
		old := claim + "-" + rand.Text()
		if os.Rename(claim, old) != nil {
			return ""
		}
		_ = os.Remove(old)
	}
	token = rand.Text()
	temp := claim + "." + token
	defer func() { _ = os.Remove(temp) }()
	if os.WriteFile(temp, []byte(token), 0o644) != nil || setTime(temp, s.c.Lease) != nil || os.Link(temp, claim) != nil {
		return ""
	}
	if exists(s.mark(topic, name, ".done")) { // somebody has finished it meanwhile
		_ = os.Remove(claim)
		return ""
	}
	return token
}

func setTime(path string, d time.Duration) error {
	at := time.Now().Add(d)
	return os.Chtimes(path, at, at)
}

// ours reports whether the claim still has our token.
func (s *subscriber) ours(topic string, h held) bool {
	text, err := os.ReadFile(s.mark(topic, h.name, ".claim"))
	return err == nil && string(text) == h.token
}

// hand gives a message out and settles it when its handler has.
func (s *subscriber) hand(ctx context.Context, topic string, h held, out chan<- *message.Message, unsettled *sync.WaitGroup) {
	work, lose := context.WithCancelCause(context.Background())
	d := &idem.Delivery{Topic: topic, Group: s.c.Group, Position: h.name, Envelope: h.Envelope, EnqueuedAt: h.At}
	msg := message.NewMessage(h.UUID, h.Payload)
	msg.Metadata = idem.Metadata(h.Envelope.Headers)
	msg.SetContext(idem.WithDelivery(work, d))
	unsettled.Go(func() {
		defer func() { lose(nil); <-s.slots }()
		claim := s.mark(topic, h.name, ".claim")
		select {
		case out <- msg:
		case <-s.intake.Done():
			_ = setTime(claim, 0) // nobody has seen it
			return
		case <-ctx.Done():
			_ = setTime(claim, 0)
			return
		}
		renew := time.NewTicker(s.c.Lease / 3)
		defer renew.Stop()
		for {
			select {
			case <-msg.Acked():
				if os.WriteFile(s.mark(topic, h.name, ".done"), nil, 0o644) == nil && s.ours(topic, h) {
					_ = os.Remove(claim)
				}
				if s.c.Step != nil {
					s.c.Step(msg.Context(), idem.StepEvent{Step: idem.StepAcked, Topic: topic, MessageID: h.UUID, Position: h.name})
				}
				return
			case <-msg.Nacked():
				after, _, _ := d.Redelivery()
				if s.ours(topic, h) {
					_ = setTime(claim, after)
				}
				if s.c.Step != nil {
					s.c.Step(msg.Context(), idem.StepEvent{Step: idem.StepGivenBack, Topic: topic, MessageID: h.UUID, Position: h.name})
				}
				return
			case <-renew.C:
				if !s.ours(topic, h) {
					lose(idem.ErrLeaseLost)
				} else if setTime(claim, s.c.Lease) != nil {
					continue
				}
			}
		}
	})
}
