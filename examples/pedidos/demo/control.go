package demo

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"sync"
	"time"
)

// control is the demo's own little server on the loopback: the payment gateway,
// what the workers are told, and what they report. Instances in this process
// and in child processes use it alike.
type control struct {
	gateway *gateway
	server  *http.Server
	url     string

	mu      sync.Mutex
	order   order
	reports map[string]report
	dead    map[string]bool // workers that were killed: what of theirs comes late is old
	news    time.Time       // when a report last changed
}

func newControl(ctx context.Context, g *gateway) (*control, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &control{gateway: g, url: "http://" + l.Addr().String(), reports: map[string]report{}, dead: map[string]bool{}}
	mux := http.NewServeMux()
	g.routes(mux)
	mux.HandleFunc("GET /order", c.tellOrder)
	mux.HandleFunc("POST /reports", c.takeReport)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

func (c *control) close() { _ = c.server.Close() }

func (c *control) tellOrder(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c.order)
}

func (c *control) takeReport(w http.ResponseWriter, r *http.Request) {
	var rep report
	if err := json.NewDecoder(r.Body).Decode(&rep); err != nil {
		http.Error(w, "not a report", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if rep.Paused = rep.Paused && !c.dead[rep.Worker]; c.reports[rep.Worker] != rep {
		c.reports[rep.Worker], c.news = rep, time.Now()
	}
}

// command tells the workers something new.
func (c *control) command(o order) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = o
}

// totals adds up the reports; quiet is how long nothing has changed.
func (c *control) totals() (t report, quiet time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.reports {
		t.Deliveries += r.Deliveries
		t.Duplicates += r.Duplicates
		t.Retries += r.Retries
		t.Resumed += r.Resumed
		t.Paused = t.Paused || r.Paused
	}
	return t, time.Since(c.news)
}

// bury drops the pause of a worker that was killed; its counts stay.
func (c *control) bury(worker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead[worker] = true
	r := c.reports[worker]
	r.Paused = false
	c.reports[worker] = r
}
