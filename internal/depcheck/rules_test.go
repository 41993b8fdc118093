package depcheck

// A rule limits what the non-test code of some packages may depend on. Packages of this module
// begin with "./"; a trailing "/..." includes everything below.
type rule struct {
	packages string
	except   string // packages the rule spares

	// imports lists everything the packages may import directly besides the standard library and
	// their own subfolders. Nil means that the rule does not limit direct imports.
	imports []string

	// never lists what they must not even reach through others.
	never []string

	why string
}

const (
	ownClient    = "a transport or store links its own client only"
	whyGenerator = "the generator prints import paths of the run-time library, it does not carry the library"
	ownProgram   = "a program links the clients of its own transport and store only"
)

// Whatever brings a client library of one broker or database.
var (
	kafkaClients    = []string{"github.com/IBM/sarama/...", "github.com/twmb/franz-go/...", "github.com/ThreeDotsLabs/watermill-kafka/..."}
	postgresClients = []string{"github.com/jackc/...", "github.com/lib/pq/...", "github.com/ThreeDotsLabs/watermill-sql/..."}
	sqliteClients   = []string{"modernc.org/...", "github.com/mattn/go-sqlite3/...", "github.com/ncruces/..."}
	clients         = concat(kafkaClients, postgresClients, sqliteClients)

	watermill = []string{"github.com/ThreeDotsLabs/watermill/..."}

	// runtime is what generated programs use.
	runtime = []string{"./framework/...", "./middleware/...", "./transports/...", "./wiring/..."}

	// forTests are the packages that exist to be imported by tests.
	forTests = []string{
		"./internal/testenv/...", "./internal/depcheck", "./internal/mutate", "./internal/chromium", "./gen/internal/diag/diagtest", "./framework/store/storetest/...",
		"./transports/internal/queue/queuetest/...", "./conformance", "./conformance/matrix/...", "./framework/idemtest/...",
	}
)

var rules = []rule{
	{
		packages: "./framework/idem", imports: watermill,
		never: concat(clients, []string{"github.com/google/wire/...", "net/http", "testing"}),
		why:   "everybody imports the vocabulary, so whatever it imports everybody carries",
	},
	{
		packages: "./middleware",
		imports:  concat(watermill, []string{"./framework/idem", "github.com/sony/gobreaker/v2", "golang.org/x/time/rate"}),
		never:    clients,
		why:      "each middleware works alone in an existing Watermill router, on any broker and store",
	},
	{
		packages: "./framework/store/...",
		never:    []string{"./transports/...", "./middleware/...", "github.com/ThreeDotsLabs/watermill-kafka/..."},
		why:      "any store must go with any transport",
	},
	{
		packages: "./transports/...",
		never:    []string{"./framework/store/...", "./middleware/..."},
		why:      "any transport must go with any store, and the engine owns the middleware",
	},
	{packages: "./transports/internal/...", except: "./transports/internal/queue/queuetest/...", never: clients, why: "what transports share must not tie one to another's client"},
	{packages: "./transports/kafka/...", never: concat(postgresClients, sqliteClients, others("kafka")), why: ownClient},
	{packages: "./transports/memory/...", never: concat(clients, others("memory")), why: ownClient},
	{packages: "./transports/postgres/...", never: concat(kafkaClients, sqliteClients, others("postgres")), why: ownClient},
	{packages: "./transports/sqlite/...", never: concat(kafkaClients, postgresClients, others("sqlite")), why: ownClient},

	{packages: "./framework/store/memory", never: clients, why: ownClient},
	{packages: "./framework/store/postgres", never: concat(kafkaClients, sqliteClients, []string{"github.com/lib/pq/..."}), why: ownClient},
	{packages: "./framework/store/sqldb/...", never: clients, why: "the program that opens the database chooses the driver"},

	{packages: "./framework/contract", imports: []string{}, never: concat(clients, watermill), why: "generated messages are plain Go: whoever sends or reads one needs no broker"},
	{packages: "./framework/idemsql", imports: []string{}, never: clients, why: "handlers import it, and go with any store"},
	{packages: "./conformance/report", imports: []string{}, never: concat(clients, watermill), why: "reports are read by programs that run nothing"},
	{
		packages: "./framework/idemtest", never: concat(kafkaClients, postgresClients),
		why: "tests of handlers run on SQLite; whoever wants another database brings it",
	},
	{packages: "./framework/outbox", imports: concat(watermill, []string{"./framework/idem"}), why: "the relay works with any store and transport"},
	{packages: "./framework/deadletter", imports: concat(watermill, []string{"./framework/idem", "github.com/evanphx/json-patch/v5", "github.com/rogpeppe/go-internal/diff", "golang.org/x/time/rate"}), never: clients, why: "dead letters work with any store and transport"},
	{packages: "./framework/config", imports: []string{"./framework/idem", "github.com/goccy/go-yaml/..."}, why: "a configuration is data; wiring makes something of it"},

	{
		packages: "./gen/...", imports: []string{"./gen/...", "github.com/goccy/go-yaml/...", "github.com/rogpeppe/go-internal/diff"},
		never: concat(clients, runtime), why: whyGenerator,
	},
	{packages: "./cmd/idemgen", imports: []string{"./gen"}, never: concat(clients, runtime), why: whyGenerator},

	{packages: "./wiring", never: clients, why: "programs link what they use, and this all of them use"},
	{packages: "./wiring/memory", never: clients, why: ownProgram},
	{packages: "./wiring/sqlite", never: concat(kafkaClients, postgresClients), why: ownProgram},
	{packages: "./wiring/postgres", never: concat(kafkaClients, sqliteClients), why: ownProgram},
	{packages: "./wiring/kafka", never: concat(sqliteClients, []string{"./transports/postgres", "github.com/lib/pq/..."}), why: ownProgram},
	{packages: "./wiring/kafkasqlite", never: postgresClients, why: ownProgram},

	{
		packages: "./examples/pedidos/handlers",
		imports:  []string{"./framework/idem", "./framework/idemsql", "./examples/pedidos/loja/...", "./examples/pedidos/pedidosmsg", "github.com/google/wire"},
		never:    concat(clients, []string{"./transports/...", "./framework/store/..."}),
		why:      "handlers are the same, byte for byte, on every transport and store",
	},
	{
		packages: "./conformance",
		never:    concat(clients, []string{"./transports/...", "./framework/store/postgres/...", "./framework/store/sqldb/...", "./internal/testenv/..."}),
		why:      "whoever certifies a transport of their own carries no other's client",
	},
	{packages: "./examples/pedidos/pedidosmsg", imports: []string{"./framework/idem", "./framework/contract", "github.com/google/wire"}, never: clients, why: "a contract knows no broker"},
	{packages: "./examples/pedidos/demo", never: clients, why: "the demo drives whatever backend it is given"},
}

// others returns the transports other than name.
func others(name string) []string {
	var other []string
	for _, t := range []string{"kafka", "memory", "postgres", "sqlite"} {
		if t != name {
			other = append(other, "./transports/"+t+"/...")
		}
	}
	return other
}

func concat(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
