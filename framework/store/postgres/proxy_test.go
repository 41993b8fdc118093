package postgres_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// cut says what the proxy does with the next COMMIT.
type cut int

const (
	cutNone   cut = iota
	cutBefore     // the connection ends before the server sees COMMIT
	cutAfter      // … after the server has committed, before its answer
	cutHold       // the client's connection ends, COMMIT reaches the server on release
)

// proxy stands between a store and the server and understands enough of the
// protocol to cut the connection exactly at COMMIT.
type proxy struct {
	target string
	ln     net.Listener
	syncs  atomic.Int64 // round trips: ends of a pipeline and simple queries
	wg     sync.WaitGroup

	mu      sync.Mutex
	next    cut
	release chan struct{}
	conns   map[net.Conn]bool
	closed  bool
}

// newProxy returns a proxy and the DSN that leads through it.
func newProxy(t testing.TB, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: u.Host, ln: ln, release: make(chan struct{}), conns: map[net.Conn]bool{}}
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	u.Host = ln.Addr().String()
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return p, u.String()
}

// cutNext arms the proxy for one COMMIT.
func (p *proxy) cutNext(c cut) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = c
}

func (p *proxy) take() cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.next
	p.next = cutNone
	return c
}

func (p *proxy) close() {
	p.mu.Lock()
	p.closed = true
	_ = p.ln.Close()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *proxy) track(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
	}
	p.conns[c] = true
}

func (p *proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.track(client)
		p.track(server)
		l := &link{proxy: p, client: client, server: server, commits: map[string]bool{}}
		p.wg.Go(l.toServer)
		p.wg.Go(l.toClient)
	}
}

// link is one proxied connection.
type link struct {
	*proxy
	client, server net.Conn
	commits        map[string]bool // prepared statements that are COMMIT

	mu    sync.Mutex
	after bool // swallow the server's answers, close at the next ready-for-query
}

func (l *link) toServer() {
	held := false
	defer func() {
		if !held {
			_ = l.server.Close()
		}
		_ = l.client.Close()
	}()
	if startup := readStartup(l.client); startup == nil || write(l.server, startup) != nil {
		return
	}
	for {
		kind, msg, err := readMessage(l.client)
		if err != nil {
			return
		}
		if kind == 'S' || kind == 'Q' {
			l.syncs.Add(1)
		}
		if l.isCommit(kind, msg[5:]) {
			switch l.take() {
			case cutBefore:
				return
			case cutAfter:
				l.mu.Lock()
				l.after = true
				l.mu.Unlock()
			case cutHold:
				rest := []byte{'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, 'S', 0, 0, 0, 4} // Execute, Sync
				held = true
				l.wg.Go(func() {
					<-l.release
					_ = write(l.server, append(msg, rest...))
				})
				return
			}
		}
		if write(l.server, msg) != nil {
			return
		}
	}
}

// isCommit reports whether the message binds or runs a COMMIT.
func (l *link) isCommit(kind byte, body []byte) bool {
	first, rest, _ := bytes.Cut(body, []byte{0})
	second, _, _ := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'P':
		if string(second) == "commit" {
			l.commits[string(first)] = true
		}
	case 'B':
		return l.commits[string(second)]
	case 'Q':
		return string(first) == "commit"
	}
	return false
}

func (l *link) toClient() {
	defer func() { _ = l.client.Close() }()
	for {
		kind, msg, err := readMessage(l.server)
		if err != nil {
			return
		}
		l.mu.Lock()
		swallow := l.after
		l.mu.Unlock()
		if swallow {
			if kind == 'Z' {
				_ = l.server.Close()
				return
			}
			continue
		}
		_ = write(l.client, msg) // a client that left: read on, so that the server is not blocked
	}
}

func readStartup(r io.Reader) []byte {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-4)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil
	}
	return append(head, body...)
}

func readMessage(r io.Reader) (kind byte, msg []byte, err error) {
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	msg = append(head, make([]byte, binary.BigEndian.Uint32(head[1:])-4)...)
	_, err = io.ReadFull(r, msg[5:])
	return head[0], msg, err
}

func write(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}
