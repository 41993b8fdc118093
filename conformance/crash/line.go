package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"
)

// line is the network between a child and PostgreSQL. It cuts the connection
// that sends the nth COMMIT: before the server gets it, or when it has got it
// and before its answer is passed on.
type line struct {
	dsn string
	cut chan struct{} // closed when it was done

	server   string
	applied  bool
	nth      int32
	commits  atomic.Int32
	listener net.Listener
	once     sync.Once
}

func newLine(ctx context.Context, dsn string, applied bool, nth int) (*line, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return nil, errors.New("crash: to cut connections the DSN must be a URL with a host: postgres://user:password@host:port/database")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &line{cut: make(chan struct{}), server: u.Host, applied: applied, nth: int32(nth), listener: listener}
	if u.Port() == "" {
		l.server = net.JoinHostPort(u.Hostname(), "5432")
	}
	u.Host = listener.Addr().String()
	q := u.Query()
	if mode := q.Get("sslmode"); mode != "" && mode != "disable" && mode != "prefer" && mode != "allow" {
		_ = listener.Close()
		return nil, fmt.Errorf("crash: to see COMMIT on the line the connection must not be encrypted, sslmode is %q", mode)
	}
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	l.dsn = u.String()
	go l.accept(ctx)
	return l, nil
}

func (l *line) close() {
	_ = l.listener.Close()
}

func (l *line) accept(ctx context.Context) {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, "tcp", l.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		back := &answers{Conn: client, swallowed: make(chan struct{})}
		go func() {
			_, _ = io.Copy(back, server)
			_ = client.Close()
		}()
		go func() {
			l.forward(server, client, back)
			_ = server.Close()
			_ = client.Close()
		}()
	}
}

// forward passes on what the client sends, until it is the COMMIT to cut.
func (l *line) forward(server, client net.Conn, back *answers) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 {
			// pgx sends the word in a message of its own; that it may be split
			// over two reads does not matter here, there are more.
			if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit\x00")) && l.commits.Add(1) == l.nth {
				if l.applied {
					back.mute.Store(true)
					_, _ = server.Write(buf[:n])
					select {
					case <-back.swallowed: // the server has committed
					case <-time.After(5 * time.Second):
					}
				}
				l.once.Do(func() { close(l.cut) })
				return
			}
			if _, err := server.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answers is the way back to a client. While it is mute it swallows them.
type answers struct {
	net.Conn
	mute      atomic.Bool
	swallowed chan struct{} // closed with the first
	once      sync.Once
}

// Write implements io.Writer.
func (a *answers) Write(p []byte) (int, error) {
	if a.mute.Load() {
		a.once.Do(func() { close(a.swallowed) })
		return len(p), nil
	}
	return a.Conn.Write(p)
}
