// Package kafkasqlite wires Kafka with the store in a SQLite file.
package kafkasqlite

import (
	"database/sql"

	"github.com/google/wire"

	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/internal/kafkaparts"
	"github.com/idem-go/idem/wiring/internal/sqlitestore"
)

// Parts are the assembled application and its database.
type Parts struct {
	wiring.Parts
	DB *sql.DB
	// SQL is the same database for handlers: it takes part in their unit of work.
	SQL idemsql.DB
}

// Set provides Parts for a context, an idem.Config and wiring.Options.
var Set = wire.NewSet(wiring.Set, sqlitestore.Set, kafkaparts.Set, wire.Struct(new(Parts), "*"))
