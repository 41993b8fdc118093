package conformance

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/store/memory"
	"github.com/idem-go/idem/framework/store/postgres"
	"github.com/idem-go/idem/framework/store/sqldb"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/middleware"
	"github.com/idem-go/idem/wiring"
	kafkawiring "github.com/idem-go/idem/wiring/kafka"
	kafkasqlitewiring "github.com/idem-go/idem/wiring/kafkasqlite"
	memorywiring "github.com/idem-go/idem/wiring/memory"
	pgwiring "github.com/idem-go/idem/wiring/postgres"
	sqlitewiring "github.com/idem-go/idem/wiring/sqlite"
)

// event is the payload of the scenarios.
type event struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// world is one isolated broker and database, on which any number of
// applications run as so many processes would.
type world struct {
	cfg   idem.Config
	topic string
	build func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func())
}

// parts are an assembled application with access to the business table, which
// is what effects are counted in. It has no unique constraint: a doubled effect
// shows.
type parts struct {
	wiring.Parts
	effect  func(ctx context.Context, id string) error
	effects func(ctx context.Context) (map[string]int, error)
}

// worlds are the pairs of transport and store under test.
var worlds = map[string]func(t *testing.T) *world{
	"memory":       memoryWorld,
	"sqlite":       sqliteWorld,
	"postgres":     postgresWorld,
	"kafka":        kafkaWorld,
	"kafka-sqlite": kafkaSQLiteWorld,
}

// everywhere runs a scenario on each world.
func everywhere(t *testing.T, scenario func(t *testing.T, w *world)) {
	t.Helper()
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) { scenario(t, open(t)) })
	}
}

func memoryWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "memory", Store: "memory"}}
	var shared *memorywiring.Parts
	w.build = func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func()) {
		if shared == nil {
			p, closeAll, err := memorywiring.Build(cfg, o)
			must(t, err)
			t.Cleanup(closeAll)
			shared = p
		}
		p, err := shared.Again(cfg, o)
		must(t, err)
		return parts{p,
			func(ctx context.Context, id string) error { memory.TxFrom(ctx).Add("effect:"+id, 1); return nil },
			func(context.Context) (map[string]int, error) {
				out := map[string]int{}
				for _, id := range effectIDs(shared.Tables) {
					out[id] = int(shared.Tables.Sum("effect:" + id))
				}
				return out, nil
			}}, func() {}
	}
	return w
}

// effectIDs are the ids that a scenario may have used.
func effectIDs(s *memory.Store) (ids []string) {
	for i := range 1000 {
		if id := fmt.Sprint(i); s.Sum("effect:"+id) > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func sqliteWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "sqlite", Store: "sqlite"}}
	w.cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	w.build = func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func()) {
		p, closeAll, err := sqlitewiring.Build(t.Context(), cfg, o)
		must(t, err)
		_, err = p.DB.ExecContext(t.Context(), createEffects)
		must(t, err)
		return sqlParts(p.Parts, p.DB), closeAll
	}
	return w
}

func postgresWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: idem.Config{Transport: "postgres", Store: "postgres"}}
	w.cfg.Postgres.DSN = idem.DSN(testenv.Postgres(t))
	w.cfg.Postgres.MaxConns = 16
	w.build = func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func()) {
		p, closeAll, err := pgwiring.Build(t.Context(), cfg, o)
		must(t, err)
		_, err = p.Pool.Exec(t.Context(), createEffects)
		must(t, err)
		return pgParts(p.Parts, p.Pool), closeAll
	}
	return w
}

func kafkaWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: kafkaConfig(t, "postgres")}
	w.cfg.Postgres.DSN = idem.DSN(testenv.Postgres(t))
	w.cfg.Postgres.MaxConns = 16
	w.build = func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func()) {
		p, closeAll, err := kafkawiring.Build(t.Context(), cfg, o)
		must(t, err)
		_, err = p.Pool.Exec(t.Context(), createEffects)
		must(t, err)
		return pgParts(p.Parts, p.Pool), closeAll
	}
	return w
}

func kafkaSQLiteWorld(t *testing.T) *world {
	w := &world{topic: testenv.Topic(t), cfg: kafkaConfig(t, "sqlite")}
	w.cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	w.build = func(t *testing.T, cfg idem.Config, o wiring.Options) (parts, func()) {
		p, closeAll, err := kafkasqlitewiring.Build(t.Context(), cfg, o)
		must(t, err)
		_, err = p.DB.ExecContext(t.Context(), createEffects)
		must(t, err)
		return sqlParts(p.Parts, p.DB), closeAll
	}
	return w
}

func kafkaConfig(t *testing.T, store string) idem.Config {
	cfg := idem.Config{Transport: "kafka", Store: store}
	cfg.Kafka.Brokers, _ = testenv.Kafka(t)
	cfg.Kafka.CreateTopics, cfg.Kafka.Partitions, cfg.Kafka.ReplicationFactor = true, 4, 1
	return cfg
}

const createEffects = "CREATE TABLE IF NOT EXISTS effects (id TEXT NOT NULL)"

func sqlParts(p wiring.Parts, db *sql.DB) parts {
	return parts{p,
		func(ctx context.Context, id string) error {
			_, err := sqldb.TxFrom(ctx).ExecContext(ctx, "INSERT INTO effects VALUES (?)", id)
			return err
		},
		func(ctx context.Context) (map[string]int, error) {
			rows, err := db.QueryContext(ctx, "SELECT id, count(*) FROM effects GROUP BY id")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		}}
}

func pgParts(p wiring.Parts, pool *pgxpool.Pool) parts {
	return parts{p,
		func(ctx context.Context, id string) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1)", id)
			return err
		},
		func(ctx context.Context) (map[string]int, error) {
			rows, err := pool.Query(ctx, "SELECT id, count(*) FROM effects GROUP BY id")
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			return counts(rows)
		}}
}

func counts(rows interface {
	Next() bool
	Scan(...any) error
	Err() error
}) (map[string]int, error) {
	out := map[string]int{}
	for rows.Next() {
		var id string
		var n int
		if err := rows.Scan(&id, &n); err != nil {
			return nil, err
		}
		out[id] = n
	}
	return out, rows.Err()
}

// proc is one application on a world.
type proc struct {
	parts
	t        *testing.T
	w        *world
	cancel   context.CancelFunc
	ended    chan error
	closeAll func()

	mu   sync.Mutex
	seen map[idem.Kind]int
}

// operation is the consumer of the scenarios: its key is the event's id, its
// delays are short.
func (w *world) operation(name string) idem.Operation {
	return idem.Operation{
		Name: name + "-" + w.topic, Topic: w.topic, Key: idem.KeyFrom(idem.FromPayload("/id")),
		Policy: idem.Policy{Backoff: idem.Backoff{Base: 20 * time.Millisecond, Max: 200 * time.Millisecond}},
	}
}

// process assembles an application with one consumer.
func (w *world) process(t *testing.T, op idem.Operation, handle func(p *proc) idem.HandlerFunc[event]) *proc {
	t.Helper()
	p := &proc{t: t, w: w, seen: map[idem.Kind]int{}}
	o := wiring.Options{Logger: slog.New(slog.DiscardHandler), Observer: func(o middleware.Observation) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[o.Outcome]++
	}}
	p.parts, p.closeAll = w.build(t, w.cfg, o)
	must(t, idem.Register(p.App, op, handle(p)))
	t.Cleanup(func() { _ = p.stop() })
	return p
}

func (p *proc) start() *proc {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.ended = cancel, make(chan error, 1)
	go func() { p.ended <- p.App.Run(ctx) }()
	select {
	case <-p.App.Running():
	case err := <-p.ended:
		p.ended <- err
		p.t.Fatalf("application did not start: %v", err)
	}
	return p
}

// stop drains the application and closes it; the second call does nothing.
func (p *proc) stop() error {
	if p.cancel == nil {
		return nil
	}
	p.cancel()
	p.cancel = nil
	err := <-p.ended
	p.closeAll()
	return err
}

func (p *proc) count(k idem.Kind) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[k]
}

// publish sends events in order; the ordering key is the id.
func (p *proc) publish(ids ...string) {
	p.t.Helper()
	for _, id := range ids {
		body, err := json.Marshal(event{ID: id, Amount: 1})
		must(p.t, err)
		p.publishRaw(id, body)
	}
}

func (p *proc) publishRaw(key string, body []byte) {
	p.t.Helper()
	msg := message.NewMessage("", body)
	msg.SetContext(idem.WithEnvelope(p.t.Context(), idem.Envelope{Key: []byte(key)}))
	must(p.t, p.Transport.Publisher().Publish(p.w.topic, msg))
}

// patience is how long a condition may take to become true.
const patience = 60 * time.Second

// await polls a condition until it holds; what says what is missing.
func (p *proc) await(what string, cond func() (ok bool, state any)) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, state := cond()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: not after %v; last seen: %v", what, patience, state)
		}
		<-tick.C
	}
}

// awaitEffects waits until each id has its effect, then checks that none has two.
func (p *proc) awaitEffects(ids ...string) {
	p.t.Helper()
	p.await("effects", func() (bool, any) {
		got, err := p.effects(p.t.Context())
		must(p.t, err)
		var missing []string
		for _, id := range ids {
			if got[id] == 0 {
				missing = append(missing, id)
			}
		}
		return len(missing) == 0, fmt.Sprintf("missing %s", strings.Join(missing, " "))
	})
	p.wantOnce(ids...)
}

// wantOnce checks that exactly these ids took effect, once each.
func (p *proc) wantOnce(ids ...string) {
	p.t.Helper()
	got, err := p.effects(p.t.Context())
	must(p.t, err)
	for _, id := range ids {
		if got[id] != 1 {
			p.t.Errorf("event %s took effect %d times, want once", id, got[id])
		}
		delete(got, id)
	}
	if len(got) > 0 {
		p.t.Errorf("effects that nobody asked for: %v", got)
	}
}

// awaitDead waits for n dead letters and returns their reasons.
func (p *proc) awaitDead(n int) (reasons []string) {
	p.t.Helper()
	p.await("dead letters", func() (bool, any) {
		list, err := p.DeadLetters.List(p.t.Context(), idem.DeadLetterQuery{})
		must(p.t, err)
		reasons = nil
		for _, d := range list {
			reasons = append(reasons, d.Reason)
		}
		return len(list) >= n, reasons
	})
	return reasons
}

func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
