package demo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
)

// The gateway takes some charges, is down for a while, then tells its clients
// to slow down, then works.
const (
	outage            = 1200 * time.Millisecond
	limitedAnswers    = 2
	retryAfterSeconds = 1
)

// gateway is a payment provider that anybody on the loopback may call. It takes
// the money each time it is asked to, whatever the key says: what idem asks
// twice is charged twice.
type gateway struct {
	say         func(format string, args ...any)
	healthyFor  int // charges it takes before the outage
	mu          sync.Mutex
	receipts    map[string]pedidosmsg.CobrarResult // by key
	charges     []loja.Efeito
	downUntil   time.Time
	back        bool // the outage is over
	unavailable int  // 503s given
	tooMany     int  // 429s given
}

func newGateway(healthyFor int, say func(string, ...any)) *gateway {
	return &gateway{say: say, healthyFor: healthyFor, receipts: map[string]pedidosmsg.CobrarResult{}}
}

func (g *gateway) routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /charges", g.charge)
	mux.HandleFunc("GET /charges/{key}", g.lookup)
}

// chargeRequest is the body of POST /charges; the key is in a header.
type chargeRequest struct {
	PedidoID string `json:"pedidoId"`
	Centavos int64  `json:"centavos"`
}

const keyHeader = "Idempotency-Key"

func (g *gateway) charge(w http.ResponseWriter, r *http.Request) {
	var req chargeRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, "not a charge", http.StatusBadRequest)
		return
	}
	key := r.Header.Get(keyHeader)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.down(w):
		return
	case g.back && g.tooMany < limitedAnswers:
		g.tooMany++
		w.Header().Set("Retry-After", strconv.Itoa(retryAfterSeconds))
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	g.charges = append(g.charges, loja.Efeito{Tabela: cobrancas, PedidoID: req.PedidoID, Centavos: req.Centavos})
	g.receipts[key] = pedidosmsg.CobrarResult{Numero: "r-" + key}
	_ = json.NewEncoder(w).Encode(g.receipts[key])
}

func (g *gateway) lookup(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down(w) {
		return
	}
	receipt, found := g.receipts[r.PathValue("key")]
	if !found {
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(receipt)
}

// down answers for a gateway in its outage, and reports whether it did.
func (g *gateway) down(w http.ResponseWriter) bool {
	if g.downUntil.IsZero() && len(g.charges) >= g.healthyFor {
		g.downUntil = time.Now().Add(outage)
		g.say("the payment gateway goes down (503) after %s", count(len(g.charges), "charge"))
	}
	if time.Now().Before(g.downUntil) {
		g.unavailable++
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return true
	}
	if !g.downUntil.IsZero() && !g.back {
		g.back = true
		g.say("the gateway is back and asks to slow down (429, Retry-After: %d)", retryAfterSeconds)
	}
	return false
}

// seen returns the charges and how often it refused one.
func (g *gateway) seen() (charges []loja.Efeito, unavailable, tooMany int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.charges), g.unavailable, g.tooMany
}
