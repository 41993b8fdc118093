package demo

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
)

// brokenSKU is what the bug in the stock handler cannot take.
const brokenSKU = "quebrado"

// How many messages of each kind a run has beside its good orders, and how many
// of those have the broken SKU.
const (
	malformed = 3
	missing   = 3
	unknown   = 3
	reused    = 3
	broken    = 2
)

// MinEvents is the least number of good orders that has room for all of this.
const MinEvents = 10

// consumersOfPedidos is how many consumers read the topic of orders: each of
// them dead-letters or discards a bad message by itself.
const consumersOfPedidos = 2

// delivery is one message that the producer sends.
type delivery struct {
	id, key string
	body    []byte
}

// plan is what a run publishes and what must come of it, all of it drawn from
// the seed.
type plan struct {
	orders   map[string]int64 // every good order and its total in centavos
	messages []delivery
}

func newPlan(n int, seed uint64) plan {
	rnd := rand.New(rand.NewPCG(seed, 0x1de3))
	p := plan{orders: map[string]int64{}}
	var late []delivery
	send := func(key string, body []byte) { p.messages = append(p.messages, copies(rnd, key, body)...) }
	for i := range n {
		o := pedidosmsg.PedidoCriado{PedidoID: fmt.Sprintf("p%05d", i), SKU: fmt.Sprintf("sku-%d", rnd.IntN(50)), Centavos: 100 + rnd.Int64N(100_000)}
		if i < broken {
			o.SKU = brokenSKU
		}
		p.orders[o.PedidoID] = o.Centavos
		send(o.PedidoID, encode(o))
		if i >= broken && i < broken+reused { // the key again, with another amount
			o.Centavos++
			late = append(late, delivery{"reuse-" + o.PedidoID, o.PedidoID, encode(o)})
		}
	}
	for i := range malformed {
		send(fmt.Sprint("malformed-", i), fmt.Appendf(nil, `{"pedidoId":"m%d","centavos":`, i))
	}
	for i := range missing { // the SKU
		send(fmt.Sprint("missing-", i), fmt.Appendf(nil, `{"pedidoId":"f%d","centavos":100}`, i))
	}
	for i := range unknown {
		o := pedidosmsg.PedidoCriado{PedidoID: fmt.Sprint("x", i), SKU: "sku-1", Centavos: 100}
		send(o.PedidoID, encode(o))
	}
	rnd.Shuffle(len(p.messages), func(i, j int) { p.messages[i], p.messages[j] = p.messages[j], p.messages[i] })
	// A reused key comes after its first use, which order by key keeps.
	p.messages = append(p.messages, late...)
	return p
}

// copies sends a message one to three times: with the same message id again, as
// a broker that delivers twice, or with another one, as a producer that retried.
// What has no readable key is known by its message id alone, so it keeps that.
func copies(rnd *rand.Rand, key string, body []byte) []delivery {
	var out []delivery
	id := "id-" + key
	for i := range 1 + rnd.IntN(3) {
		if i > 0 && rnd.IntN(2) == 0 && json.Valid(body) {
			id = fmt.Sprintf("id-%s-%d", key, i)
		}
		out = append(out, delivery{id, key, body})
	}
	return out
}

func encode(o pedidosmsg.PedidoCriado) []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // a struct of strings and an integer encodes
	}
	return b
}
