package queue

import "sync"

// Wakes tells the subscriptions of this process that something happened on a
// topic; for backends. The zero value is ready. Safe for concurrent use.
type Wakes struct {
	mu     sync.Mutex
	topics map[string]map[chan struct{}]struct{}
}

// Add returns a channel that receives after each Send for the topic, several
// Sends at once when nobody reads, until stop is called.
func (w *Wakes) Add(topic string) (ch <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.topics == nil {
		w.topics = make(map[string]map[chan struct{}]struct{})
	}
	if w.topics[topic] == nil {
		w.topics[topic] = make(map[chan struct{}]struct{})
	}
	w.topics[topic][c] = struct{}{}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.topics[topic], c)
		if len(w.topics[topic]) == 0 {
			delete(w.topics, topic)
		}
	}
}

// Send wakes everybody who waits for the topic.
func (w *Wakes) Send(topic string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake(w.topics[topic])
}

// SendAll wakes everybody.
func (w *Wakes) SendAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, chans := range w.topics {
		wake(chans)
	}
}

func wake(chans map[chan struct{}]struct{}) {
	for c := range chans {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
