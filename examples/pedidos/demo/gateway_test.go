package demo

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idem-go/idem/examples/pedidos/loja"
	"github.com/idem-go/idem/framework/idem"
)

// The gateway works, is down, is busy, works again, and counts every charge
// that it took, also those under a key that it knows.
func TestGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway(2, func(string, ...any) {})
		mux := http.NewServeMux()
		g.routes(mux)
		c := client{base: "http://gateway", http: &http.Client{Transport: direct{mux}}}

		charge := func() error {
			_, err := c.Cobrar(t.Context(), "k/1", "p1", 100)
			return err
		}
		for range 2 {
			if err := charge(); err != nil {
				t.Fatal(err)
			}
		}
		if err := charge(); statusOf(err) != 503 {
			t.Errorf("after two charges: %v", err)
		}
		if _, _, err := c.Consultar(t.Context(), "k/1"); statusOf(err) != 503 {
			t.Errorf("a look-up meanwhile: %v", err)
		}
		time.Sleep(outage)
		for range limitedAnswers {
			err := charge()
			if d, told := idem.RetryAfterOf(err); statusOf(err) != 429 || !told || d != retryAfterSeconds*time.Second {
				t.Errorf("after the outage: %v", err)
			}
		}
		if err := charge(); err != nil {
			t.Error(err)
		}
		if r, found, err := c.Consultar(t.Context(), "k/1"); err != nil || !found || r.Numero != "r-k/1" {
			t.Errorf("look-up: %+v %v %v", r, found, err)
		}
		if _, found, err := c.Consultar(t.Context(), "k/2"); err != nil || found {
			t.Errorf("look-up of an unknown key: %v %v", found, err)
		}
		charges, unavailable, tooMany := g.seen()
		one := loja.Efeito{Tabela: cobrancas, PedidoID: "p1", Centavos: 100}
		if !slices.Equal(charges, []loja.Efeito{one, one, one}) || unavailable != 2 || tooMany != limitedAnswers {
			t.Errorf("charges %v, %d × 503, %d × 429", charges, unavailable, tooMany)
		}
	})
}

// direct serves requests without a network, which the fake time could not wait for.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

func statusOf(err error) int {
	var s statusError
	errors.As(err, &s)
	return int(s)
}
