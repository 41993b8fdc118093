package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// client is a handlers.Gateway over HTTP.
type client struct {
	base string
	http *http.Client
}

// Cobrar implements handlers.Gateway.
func (c client) Cobrar(ctx context.Context, chave, pedidoID string, centavos int64) (pedidosmsg.CobrarResult, error) {
	body, err := json.Marshal(chargeRequest{PedidoID: pedidoID, Centavos: centavos})
	if err != nil {
		return pedidosmsg.CobrarResult{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/charges", bytes.NewReader(body))
	if err != nil {
		return pedidosmsg.CobrarResult{}, err
	}
	req.Header.Set(keyHeader, chave)
	r, _, err := c.do(req)
	return r, err
}

// Consultar implements handlers.Gateway.
func (c client) Consultar(ctx context.Context, chave string) (pedidosmsg.CobrarResult, bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/charges/"+url.PathEscape(chave), nil)
	if err != nil {
		return pedidosmsg.CobrarResult{}, false, err
	}
	r, status, err := c.do(req)
	if status == http.StatusNotFound {
		return r, false, nil
	}
	return r, err == nil, err
}

func (c client) do(req *http.Request) (r pedidosmsg.CobrarResult, status int, err error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return r, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10)) // so that the connection can be used again
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
