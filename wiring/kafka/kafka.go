// Package kafka wires Kafka with the store in PostgreSQL.
package kafka

import (
	"github.com/google/wire"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/internal/kafkaparts"
	"github.com/idem-go/idem/wiring/internal/pgstore"
)

// Parts are the assembled application and the pool that its handlers share.
type Parts struct {
	wiring.Parts
	Pool *pgxpool.Pool
	// SQL is the same database for handlers: it takes part in their unit of work.
	SQL idemsql.DB
}

// Set provides Parts for a context, an idem.Config and wiring.Options.
var Set = wire.NewSet(wiring.Set, pgstore.Set, kafkaparts.Set, wire.Struct(new(Parts), "*"))
