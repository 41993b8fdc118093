//go:build unix

package crash

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/idem-go/idem/conformance/report"
	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/internal/testenv"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // one for each process, started by a dependency of sarama
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// certifyEnv is how many kills the long run has (make certify); without it the
// run is short: each step once, and a few at random.
const certifyEnv = "IDEM_CERTIFY_KILLS"

const short = 22

func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv(certifyEnv)
	if text == "" {
		return short
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number from 1, is %q", certifyEnv, text)
	}
	return n
}

// self is idemctl, whose children start faster than those of a test binary with
// the race detector.
var self = sync.OnceValues(func() ([]string, error) {
	dir, err := os.MkdirTemp("", "idemctl-")
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(dir, "idemctl")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/idemctl").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return []string{bin}, nil
})

func certify(t *testing.T, o Options) report.Crash {
	t.Helper()
	if testing.Short() {
		t.Skip("kills processes for a minute or two")
	}
	var err error
	if o.Self, err = self(); err != nil {
		t.Fatal(err)
	}
	if o.Kills == 0 {
		o.Kills = kills(t)
	}
	o.Dir, o.Progress = t.TempDir(), func(line string) { t.Log(line) }
	found, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holds checks that nothing was lost or doubled, and keeps the report.
func holds(t *testing.T, found report.Crash) {
	t.Helper()
	r := report.Report{Crash: []report.Crash{found}}
	for _, p := range r.Problems() {
		t.Error(p)
	}
	if dir := os.Getenv(report.Env); dir != "" {
		if err := report.Write(dir, "crash-"+found.Harness, r); err != nil {
			t.Error(err)
		}
	}
}

func sqliteConfig(t *testing.T) idem.Config {
	cfg := idem.Config{Transport: "sqlite", Store: "sqlite"}
	cfg.SQLite.Path = filepath.Join(t.TempDir(), "idem.db")
	return cfg
}

func postgresConfig(t *testing.T) idem.Config {
	cfg := idem.Config{Transport: "postgres", Store: "postgres"}
	cfg.Postgres.DSN = idem.DSN(testenv.Postgres(t))
	return cfg
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	holds(t, certify(t, Options{Config: sqliteConfig(t), Servers: []report.Server{{Name: "SQLite"}}}))
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	holds(t, certify(t, Options{Config: postgresConfig(t), Servers: []report.Server{{Name: "PostgreSQL", Note: "fsync on"}}}))
}

func TestPostgresGroup(t *testing.T) {
	t.Parallel()
	holds(t, certify(t, Options{Config: postgresConfig(t), Transaction: idem.TransactionGroup, Servers: []report.Server{{Name: "PostgreSQL", Note: "fsync on"}}}))
}

func TestKafka(t *testing.T) {
	t.Parallel()
	brokers, isReal := testenv.Kafka(t)
	if !isReal {
		t.Skip("needs Kafka: set IDEM_TEST_KAFKA (scripts/brokers.sh up)")
	}
	cfg := postgresConfig(t)
	cfg.Transport, cfg.Kafka.Brokers = "kafka", brokers
	holds(t, certify(t, Options{Config: cfg, Servers: []report.Server{{Name: "Apache Kafka", Note: "one broker"}, {Name: "PostgreSQL", Note: "fsync on"}}}))
}

func TestKafkaFake(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg := sqliteConfig(t)
	cfg.Transport, cfg.Kafka.Brokers = "kafka", cluster.ListenAddrs()
	n := kills(t)
	var steps []idem.Step
	if n == short { // kfake is slow to notice that a member is dead
		n, steps = 6, []idem.Step{idem.StepReceived, idem.StepCommitted, idem.StepAcked}
	}
	holds(t, certify(t, Options{Name: "kfake+sqlite", Config: cfg, Steps: steps, Kills: n, Servers: []report.Server{{Name: "kfake", Note: "in the test process"}, {Name: "SQLite"}}}))
}

// A handler that writes outside its transaction doubles when it is killed before
// the commit: the certificate says so.
func TestWhatIsBrokenIsFound(t *testing.T) {
	t.Parallel()
	cfg := postgresConfig(t)
	cfg.Postgres.MaxConns = 20 // each handler needs a second one
	found := certify(t, Options{Name: "broken", Config: cfg, Kills: 6, Steps: []idem.Step{idem.StepCommitting}, broken: true})
	for _, res := range found.Results {
		if res.Step == string(idem.StepCommitting) && res.Effects.Doubled == 0 {
			t.Errorf("effects outside the transaction, and the certificate says %+v", res.Effects)
		}
	}
	if len(report.Report{Crash: []report.Crash{found}}.Problems()) == 0 {
		t.Error("the report has no problems")
	}
}

func TestWhatCannotBeCertified(t *testing.T) {
	_, err := Run(t.Context(), Options{Config: idem.Config{Transport: "memory", Store: "memory"}, Steps: []idem.Step{idem.StepAcked}, Kills: 1})
	if err == nil || !strings.Contains(err.Error(), `nothing outlives a process on transport "memory"`) {
		t.Errorf("got %v", err)
	}
	for dsn, want := range map[string]string{
		"host=localhost dbname=x":                 "must be a URL",
		"postgres://u:secret@h/x?sslmode=require": "must not be encrypted",
	} {
		_, err := newLine(t.Context(), dsn, true, 1)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Brokers and databases are restarted and SIGKILLed under a working child. The
// servers are the test's own.
func TestServersKilled(t *testing.T) {
	if os.Getenv(certifyEnv) == "" {
		t.Skip("starts and kills servers of its own for minutes: make certify")
	}
	s := ownServers(t)
	pg := idem.Config{Transport: "postgres", Store: "postgres"}
	pg.Postgres.DSN = idem.DSN(s.dsn)
	database := map[string]func(context.Context) error{
		"database restarted": s.restartPostgres, "database SIGKILLed": s.killPostgres, "backend of the database SIGKILLed": s.killBackend,
	}
	t.Run("postgres", func(t *testing.T) {
		holds(t, certify(t, Options{Config: pg, Kills: 40, Steps: []idem.Step{idem.StepCommitting}, Disturbances: database,
			Servers: []report.Server{{Name: "PostgreSQL", Note: "fsync on"}}}))
	})
	t.Run("kafka", func(t *testing.T) {
		cfg := pg
		cfg.Transport, cfg.Kafka.Brokers = "kafka", []string{s.brokers}
		holds(t, certify(t, Options{Config: cfg, Kills: 40, Steps: []idem.Step{idem.StepCommitting}, Disturbances: map[string]func(context.Context) error{
			"broker restarted": s.restartKafka, "broker SIGKILLed": s.killKafka, "backend of the database SIGKILLed": s.killBackend,
		}, Servers: []report.Server{{Name: "Apache Kafka", Note: "one broker"}, {Name: "PostgreSQL", Note: "fsync on"}}}))
	})
}

// servers are a PostgreSQL and a Kafka of the test's own.
type servers struct {
	t            *testing.T
	env          []string
	state        string
	dsn, brokers string
}

func ownServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{t: t, state: filepath.Join(t.TempDir(), "run")}
	s.env = append(os.Environ(), "IDEM_STATE="+s.state, "IDEM_POSTGRES_PORT="+freePort(t), "IDEM_KAFKA_PORT="+freePort(t))
	t.Cleanup(func() { _, _ = s.script(context.Background(), "down") })
	out, err := s.script(t.Context(), "up")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "export IDEM_TEST_POSTGRES="); ok {
			s.dsn = strings.Trim(v, "'")
		} else if v, ok := strings.CutPrefix(line, "export IDEM_TEST_KAFKA="); ok {
			s.brokers = strings.Trim(v, "'")
		}
	}
	if s.dsn == "" || s.brokers == "" {
		t.Skip("needs servers of its own: scripts/brokers.sh has not started both")
	}
	return s
}

// freePort is a port with a free neighbour, below those that clients get.
func freePort(t *testing.T) string {
	t.Helper()
	for port := 21000 + os.Getpid()%5000; port < 32000; port += 7 {
		a, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			continue
		}
		_ = a.Close()
		b, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port+1))
		if err != nil {
			continue
		}
		_ = b.Close()
		return strconv.Itoa(port)
	}
	t.Fatal("no free port")
	return ""
}

func (s *servers) script(ctx context.Context, verb string) (string, error) {
	cmd := exec.CommandContext(ctx, "../../scripts/brokers.sh", verb)
	cmd.Env = s.env
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	return out.String(), err
}

func (s *servers) up(ctx context.Context) error {
	_, err := s.script(ctx, "up")
	return err
}

// signal sends a signal to the process whose number a file begins with.
func (s *servers) signal(file string, sig syscall.Signal) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return err
	}
	for syscall.Kill(pid, 0) == nil {
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func (s *servers) postmaster(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var dir string
	err = conn.QueryRow(ctx, `SHOW data_directory`).Scan(&dir)
	return filepath.Join(dir, "postmaster.pid"), err
}

func (s *servers) restartPostgres(ctx context.Context) error {
	return s.endPostgres(ctx, syscall.SIGINT)
}
func (s *servers) killPostgres(ctx context.Context) error { return s.endPostgres(ctx, syscall.SIGKILL) }

func (s *servers) endPostgres(ctx context.Context, sig syscall.Signal) error {
	file, err := s.postmaster(ctx)
	if err == nil {
		err = s.signal(file, sig)
	}
	if err != nil {
		return err
	}
	return s.up(ctx)
}

// killBackend kills the process of one connection, upon which PostgreSQL
// disconnects everybody and recovers.
func (s *servers) killBackend(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		return err
	}
	var pid int
	err = conn.QueryRow(ctx, `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
		ORDER BY state = 'active' DESC, random() LIMIT 1`).Scan(&pid)
	_ = conn.Close(ctx)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; { // it serves again when it has recovered
		conn, err := pgx.Connect(ctx, s.dsn)
		if err == nil {
			return conn.Close(ctx)
		}
		if time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (s *servers) restartKafka(ctx context.Context) error { return s.endKafka(ctx, syscall.SIGTERM) }
func (s *servers) killKafka(ctx context.Context) error    { return s.endKafka(ctx, syscall.SIGKILL) }

func (s *servers) endKafka(ctx context.Context, sig syscall.Signal) error {
	if err := s.signal(filepath.Join(s.state, "kafka", "pid"), sig); err != nil {
		return err
	}
	return s.up(ctx)
}
