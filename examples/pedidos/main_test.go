package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/internal/testenv"
)

// asMain lets the test binary be the program.
const asMain = "IDEM_PEDIDOS_TEST_MAIN"

func TestMain(m *testing.M) {
	if _, child := childFromEnv(); child || os.Getenv(asMain) != "" {
		main()
	}
	code := m.Run()
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaks waits for what ends by itself: a sarama client that got no answer goes
// on trying for a while.
func leaks() (err error) {
	for range 10 {
		err = goleak.Find(goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")) // sarama's, for ever
		if err == nil {
			break
		}
	}
	return err
}

// backend is one way to run the demo.
type backend struct {
	name, transport string
	flags           func(t *testing.T) []string
}

var (
	onMemory      = backend{"memory", "memory", func(*testing.T) []string { return nil }}
	onSQLite      = backend{"sqlite", "sqlite", func(*testing.T) []string { return nil }}
	onPostgres    = backend{"postgres", "postgres", postgresFlags}
	onKafka       = backend{"kafka", "kafka", func(t *testing.T) []string { return append(kafkaFlags(t), postgresFlags(t)...) }}
	onKafkaSQLite = backend{"kafka with sqlite", "kafka", func(t *testing.T) []string { return append(kafkaFlags(t), "-set", "store=sqlite") }}
)

func postgresFlags(t *testing.T) []string {
	dsn := testenv.Postgres(t)
	t.Cleanup(func() { noSchemaIsLeft(t, dsn) })
	return []string{"-set", "postgres.dsn=" + dsn}
}

func kafkaFlags(t *testing.T) []string {
	brokers, _ := testenv.Kafka(t)
	return []string{"-set", "kafka.brokers=" + strings.Join(brokers, ",")}
}

// orders is how many good orders a run has.
const orders = 60

// args are the flags of a short run, which may take long under the race detector.
func (b backend) args(t *testing.T, more ...string) []string {
	t.Helper()
	skipUnlessLinked(t, b.transport)
	args := append([]string{"-config", noConfig(t), "-transport", b.transport, "-n", fmt.Sprint(orders), "-timeout", "2m"}, b.flags(t)...)
	return append(args, more...)
}

// skipUnlessLinked leaves out what a program built with a tag does not have.
func skipUnlessLinked(t *testing.T, transport string) {
	t.Helper()
	if l := linked(); l != nil && !slices.Contains(l, "transport="+transport) {
		t.Skipf("built for %v alone", l)
	}
}

// noConfig keeps a run from the idem.yaml of this folder.
func noConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "empty.yaml")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// seeds is how many seeds the runs are tried with: IDEM_SEEDS, else one.
func seeds(t *testing.T) int {
	text := os.Getenv("IDEM_SEEDS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("IDEM_SEEDS must be a positive number, is %q", text)
	}
	return n
}

// output is a buffer for concurrent writers. It calls then once it holds text.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	then func()
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(p)
	if o.then != nil && strings.Contains(o.buf.String(), o.text) {
		o.then()
		o.then = nil
	}
	return n, err
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// result runs the demo with -json and returns what it printed, which must be
// one object and nothing else.
func result(t *testing.T, args []string) (code int, r demo.Result, fields map[string]json.RawMessage) {
	t.Helper()
	var stdout, stderr output
	code = run(t.Context(), append(args, "-json"), &stdout, &stderr)
	dec := json.NewDecoder(strings.NewReader(stdout.String()))
	if err := errors.Join(dec.Decode(&fields), json.Unmarshal([]byte(stdout.String()), &r)); err != nil {
		t.Fatalf("exit status %d, stdout is not one JSON object: %v\n%s\n%s", code, err, stdout.String(), stderr.String())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("stdout goes on after the object: %s", stdout.String())
	}
	if stderr.String() != "" {
		t.Errorf("stderr: %s", stderr.String())
	}
	return code, r, fields
}
