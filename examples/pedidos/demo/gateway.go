package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/idem-go/idem/examples/pedidos/handlers"
	"github.com/idem-go/idem/framework/idem"
)

// The gateway takes some charges, is down for a while, then tells its clients
// to slow down, then works.
const (
	chargesBeforeOutage = 20
	outage              = 1200 * time.Millisecond
	limitedAnswers      = 2
	retryAfterSeconds   = 1
)

// gateway is a payment provider that anybody on the loopback may call. Its
// charges are counted as money would be: one for each call that it accepted,
// whatever the key says.
type gateway struct {
	mu          sync.Mutex
	charges     map[string]int // by key, all of them
	accepted    int
	downUntil   time.Time
	limited     int
	unavailable int // 503s given
	tooMany     int // 429s given
}

func newGateway() *gateway { return &gateway{charges: map[string]int{}} }

func (g *gateway) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /charges/{key}", g.charge)
	mux.HandleFunc("GET /charges/{key}", g.lookup)
}

// refuse answers for a gateway that does not work now, and reports whether it did.
func (g *gateway) refuse(w http.ResponseWriter) bool {
	if g.accepted == chargesBeforeOutage && g.downUntil.IsZero() {
		g.downUntil = time.Now().Add(outage)
	}
	if time.Now().Before(g.downUntil) {
		g.unavailable++
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return true
	}
	return false
}

func (g *gateway) charge(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse(w) {
		return
	}
	if !g.downUntil.IsZero() && g.limited < limitedAnswers {
		g.limited++
		g.tooMany++
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	key := r.PathValue("key")
	g.charges[key]++
	g.accepted++
	_ = json.NewEncoder(w).Encode(handlers.Recibo{Numero: "r-" + key})
}

func (g *gateway) lookup(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse(w) {
		return
	}
	key := r.PathValue("key")
	if g.charges[key] == 0 {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(handlers.Recibo{Numero: "r-" + key})
}

// seen returns a copy of the charges and how often it refused.
func (g *gateway) seen() (charges map[string]int, unavailable, tooMany int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	charges = make(map[string]int, len(g.charges))
	for k, n := range g.charges {
		charges[k] = n
	}
	return charges, g.unavailable, g.tooMany
}

// client is a handlers.Gateway over HTTP.
type client struct {
	base string
	http *http.Client
}

// Charge implements handlers.Gateway.
func (c client) Charge(ctx context.Context, key string, centavos int64) (handlers.Recibo, error) {
	r, _, err := c.do(ctx, http.MethodPost, key)
	return r, err
}

// Lookup implements handlers.Gateway.
func (c client) Lookup(ctx context.Context, key string) (handlers.Recibo, bool, error) {
	r, status, err := c.do(ctx, http.MethodGet, key)
	if status == http.StatusNotFound {
		return r, false, nil
	}
	return r, err == nil, err
}

func (c client) do(ctx context.Context, method, key string) (r handlers.Recibo, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+"/charges/"+url.PathEscape(key), nil)
	if err != nil {
		return r, 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return r, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		err := error(statusError(resp.StatusCode))
		if d, ok := idem.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			err = idem.RetryAfter(err, d)
		}
		return r, resp.StatusCode, err
	}
	return r, resp.StatusCode, json.NewDecoder(resp.Body).Decode(&r)
}

// statusError is what most HTTP clients return in one way or another; idem
// reads the class from the status.
type statusError int

func (e statusError) Error() string   { return fmt.Sprintf("gateway answered %d", int(e)) }
func (e statusError) StatusCode() int { return int(e) }
