package demo

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/idem-go/idem/examples/pedidos/pedidosmsg"
	"github.com/idem-go/idem/framework/idem"
)

// Run is what tells one run of the demo from another on a shared server.
type Run struct {
	ID      string
	Control string // address of the control server
}

func newRun(control string) Run {
	var b [4]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return Run{ID: hex.EncodeToString(b[:]), Control: control}
}

// Topics are the run's own.
func (r Run) Topics() pedidosmsg.Topics {
	return pedidosmsg.Topics{Pedidos: "pedidos-" + r.ID, Faturas: "faturas-" + r.ID}
}

// Schema is the run's own PostgreSQL schema.
func (r Run) Schema() string { return "pedidos_" + r.ID }

// own makes an operation the run's own: its name is its consumer group, which
// Kafka shares.
func (r Run) own(op idem.Operation) idem.Operation {
	op.Name = r.name(op.Name)
	return op
}

func (r Run) name(operation string) string { return operation + "-" + r.ID }

// operations are the consumers of the service under the run's names.
func (r Run) operations() []idem.Operation {
	t := r.Topics()
	return []idem.Operation{r.own(pedidosmsg.Faturar(t)), r.own(pedidosmsg.Reservar(t)), r.own(pedidosmsg.Cobrar(t))}
}

// configure isolates the run and declares what it needs, where the
// configuration does not.
func (r Run) configure(cfg idem.Config) idem.Config {
	cfg.Postgres.Schema = r.Schema()
	cfg.Kafka.CreateTopics = true
	if cfg.Kafka.Partitions == 0 {
		cfg.Kafka.Partitions = 4
	}
	if cfg.Kafka.ReplicationFactor == 0 {
		cfg.Kafka.ReplicationFactor = 1
	}
	breakers := map[string]idem.BreakerConfig{pedidosmsg.Gateway: {Failures: 3, OpenFor: 300 * time.Millisecond}}
	for name, b := range cfg.Breakers {
		breakers[name] = b
	}
	cfg.Breakers = breakers
	consumers := map[string]idem.OperationConfig{}
	for name, c := range cfg.Consumers {
		consumers[r.name(name)] = c
	}
	cfg.Consumers = consumers
	return cfg
}
