package kafka

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

// line is the network between one client and the brokers. Cutting it is as if
// the client had crashed: it says no good-bye and commits nothing more.
type line struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
	dials atomic.Int32
}

func (l *line) tune(s *sarama.Config) {
	s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, l
	s.Metadata.Retry.Max, s.Metadata.Retry.Backoff = 1, 50*time.Millisecond
}

func (l *line) Dial(network, addr string) (net.Conn, error) {
	l.dials.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the line is cut")
	}
	c, err := net.DialTimeout(network, addr, 5*time.Second)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
