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

// operations are the consumers of the service.
func operations() []idem.Operation {
	return []idem.Operation{pedidosmsg.FaturarOperation(), pedidosmsg.ReservarOperation(), pedidosmsg.CobrarOperation()}
}

// schema is the run's own PostgreSQL schema, "" on another database.
func (r Run) schema(cfg idem.Config) string {
	if cfg.WithDefaults().Store != "postgres" {
		return ""
	}
	return "pedidos_" + r.ID
}

// configure isolates the run, and declares what it needs where the
// configuration does not.
func (r Run) configure(cfg idem.Config) idem.Config {
	cfg.Postgres.Schema = "pedidos_" + r.ID
	cfg.TopicPrefix = "pedidos-" + r.ID + "."
	cfg.GroupPrefix = cfg.TopicPrefix
	cfg.Kafka.CreateTopics = true
	if cfg.Kafka.Partitions == 0 {
		cfg.Kafka.Partitions = 4
	}
	if cfg.Kafka.ReplicationFactor == 0 {
		cfg.Kafka.ReplicationFactor = 1
	}
	breakers := map[string]idem.BreakerConfig{pedidosmsg.CobrarOperation().Dependency: {Failures: 3, OpenFor: 300 * time.Millisecond}}
	for name, b := range cfg.Breakers {
		breakers[name] = b
	}
	cfg.Breakers = breakers
	return cfg
}
