package config

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
)

// problems returns the lines of a load's error, with the file's name shortened.
func problems(src Source) []string {
	_, err := Load(src)
	if err == nil {
		return nil
	}
	text := err.Error()
	if src.Path != "" {
		text = strings.ReplaceAll(text, src.Path, "idem.yaml")
	}
	return strings.Split(text, "\n")
}

func TestEveryProblemOfAFileIsReportedAtItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"all of them at once, sorted": {`transport: kafak
kafka:
  brokres: [a:1]
  brokers: ["a:1", bad, "é:x"] # é
  window: many
  tls: yes
  sessionTimeout: 10
  partitions: [1]
  clientId:
  sasl: {user: "ä", pasword: x, mechanism: plain}
outbox:
    lease: 30x
    batch: 99999999999999999999
consumers:
  charge:
    policy:
      maxAttempts: 0
      timeout: 5 s
      backoff: {base: 1m, max: 1s}
    dependency: stirpe
    unordered: no
  "bad name": {ratePerSecond: .inf}
breakers:
  stripe: {failures: -1}
log: {level: loud, format: xml}
`, []string{
			`idem.yaml:1:12: transport: must be sqlite, postgres, kafka or memory (did you mean kafka?)`,
			`idem.yaml:3:3: kafka.brokres: unknown key (did you mean brokers?)`,
			`idem.yaml:4:20: kafka.brokers[1]: must be host:port, such as localhost:9092`,
			`idem.yaml:4:25: kafka.brokers[2]: must be host:port, such as localhost:9092`,
			`idem.yaml:5:11: kafka.window: must be a whole number`,
			`idem.yaml:6:8: kafka.tls: must be a section of keys, is a single value`,
			`idem.yaml:7:19: kafka.sessionTimeout: needs a unit (such as 30s, 250ms or 7d)`,
			`idem.yaml:8:15: kafka.partitions: must be a single value, is a list`,
			`idem.yaml:9:12: kafka.clientId: has no value (give it one, or remove the key)`,
			`idem.yaml:10:3: kafka.sasl.password: must be set to log in`,
			`idem.yaml:10:21: kafka.sasl.pasword: unknown key (did you mean password?)`,
			`idem.yaml:10:44: kafka.sasl.mechanism: must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 (did you mean PLAIN?)`,
			`idem.yaml:12:12: outbox.lease: must be a duration (such as 30s, 250ms, 1h30m or 7d)`,
			`idem.yaml:13:12: outbox.batch: is too large`,
			`idem.yaml:17:20: consumers.charge.policy.maxAttempts: must be at least 1, is 0 (1 is no retry)`,
			`idem.yaml:18:16: consumers.charge.policy.timeout: must be a duration (such as 30s, 250ms, 1h30m or 7d)`,
			`idem.yaml:19:7: consumers.charge.policy.backoff: max must not be below base, is 1s below 1m0s`,
			`idem.yaml:20:17: consumers.charge.dependency: is not the name of a breaker (did you mean stripe?)`,
			`idem.yaml:21:16: consumers.charge.unordered: must be true or false`,
			`idem.yaml:22:3: consumers.bad name: the name must be 1 to 120 letters, digits, '.', '_' or '-'`,
			`idem.yaml:22:31: consumers.bad name.ratePerSecond: must be a number`,
			`idem.yaml:24:22: breakers.stripe.failures: must be within 1..2147483647, is -1`,
			`idem.yaml:25:14: log.level: must be debug, info, warn or error`,
			`idem.yaml:25:28: log.format: must be text or json`,
		}},
		"keys given twice, at any depth": {"store: memory\nlog: {format: text, format: json}\nstore: sqlite\n", []string{
			"idem.yaml:2:21: log.format: is given twice (first in line 2)",
			"idem.yaml:3:1: store: is given twice (first in line 1)",
		}},
		"lines of Windows": {"kafka:\r\n  window: x\r\nlogs: 1\r\n", []string{
			"idem.yaml:2:11: kafka.window: must be a whole number",
			"idem.yaml:3:1: logs: unknown key (did you mean log?)",
		}},
		"a byte order mark": {"\ufeffstore: x\n", []string{`idem.yaml:1:8: store: must be sqlite, postgres or memory`}},
		"a key nobody could have meant": {"outbox: {frobnicate: 1}", []string{
			"idem.yaml:1:10: outbox.frobnicate: unknown key (known here: batch, pollInterval, lease)",
		}},
		"what is missing, at the section it is missing in": {"transport: kafka\nkafka:\n  window: 5\n", []string{
			"idem.yaml:2:1: kafka.brokers: must name at least one broker for transport kafka (in idem.yaml or as IDEM_KAFKA_BROKERS, such as localhost:9092)",
		}},
		"what is missing with its section": {"transport: postgres\n", []string{
			"idem.yaml: postgres.dsn: must be set for transport postgres (in idem.yaml or as IDEM_POSTGRES_DSN, such as postgres://app:${DB_PASSWORD}@localhost/app)",
		}},
		"a variable that is not set": {"sqlite: {path: \"${HOME_DIR}/x.db\"}\nkafka:\n  brokers: [\"${A:-b:1}\", \"${B}\"]\n", []string{
			"idem.yaml:1:16: sqlite.path: environment variable HOME_DIR is not set (set it, or write ${HOME_DIR:-default})",
			"idem.yaml:3:26: kafka.brokers[1]: environment variable B is not set (set it, or write ${B:-default})",
		}},
		"a reference that is none": {"sqlite: {path: \"${a b}\"}\nstore: ${\n", []string{
			"idem.yaml:1:16: sqlite.path: has a ${ that is no variable (write ${NAME} or ${NAME:-default}, and $${ for a plain ${)",
			"idem.yaml:2:8: store: has a ${ that is no variable (write ${NAME} or ${NAME:-default}, and $${ for a plain ${)",
		}},
		"rules": {"classify:\n  - class: bug\n  - sqlState: abc\n    class: transiant\n  - 7\n", []string{
			"idem.yaml:2:5: classify[0]: must have a condition (sqlState, http, grpc or type)",
			"idem.yaml:3:15: classify[1].sqlState: must be up to 5 digits and capitals, such as 40001 or 23",
			"idem.yaml:4:12: classify[1].class: must be the name of a class, such as transient or permanent",
			"idem.yaml:5:5: classify[2]: must be a section of keys, is a single value",
		}},
		"what YAML has and a configuration needs not": {"a: &x 1\nb: *x\nc: !!str 1\n<<: {}\n? a\n: b\n", []string{
			"idem.yaml:1:4: anchors are not supported (put what consumers share under defaults)",
			"idem.yaml:2:4: aliases are not supported (put what consumers share under defaults)",
			"idem.yaml:3:4: tags are not supported (remove it, or quote a text that begins with !)",
			"idem.yaml:4:1: merge keys are not supported (put what consumers share under defaults)",
			"idem.yaml:5:1: keys with ? are not supported (write key: value)",
		}},
		"several documents": {"store: memory\n---\nstore: sqlite\n", []string{"idem.yaml:3:1: a second document begins here (a file has one)"}},
		"tabs":              {"kafka:\n\twindow: 1\n", []string{"idem.yaml:2:1: is not valid YAML: found character '\t' that cannot start any token"}},
		"an open quote":     {"store: \"a\nb", []string{"idem.yaml:1:8: is not valid YAML: could not find end character of double-quoted text"}},
		"other bytes":       {"store: memory\nlog: \xff\n", []string{"idem.yaml:2:6: is not UTF-8 text"}},
		"deep nesting":      {"a: " + strings.Repeat("[", 30), []string{"idem.yaml:1:24: is nested too deeply"}},
		"deep lists":        {"a:\n" + strings.Repeat("- ", 30), []string{"idem.yaml:2:41: is nested too deeply"}},
		"many short lists": {"lists:\n" + strings.Repeat("- - [[1]]\n", 30), []string{
			"idem.yaml:1:1: lists: unknown key (known here: transport, store, topicPrefix, groupPrefix, sqlite, postgres, kafka, queue, outbox, drainTimeout, sweepEvery, log, breakers, classify, defaults, consumers)",
		}},
		"a list": {"- a\n", []string{"idem.yaml:1:1: must be a section of keys, is a list"}},
		"a word": {"hello", []string{"idem.yaml:1:1: must be a section of keys, is a single value"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, problems(Source{Path: write(t, c.file)})); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingInTheFileMeansTheDefaults(t *testing.T) {
	for name, file := range map[string]string{
		"empty": "", "comment": "# nothing\n", "marker": "---\n", "null": "~\n", "empty sections": "kafka:\nlog: {}\nconsumers: ~\nclassify: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(Source{Path: write(t, file)})
			if err != nil {
				t.Fatal(err)
			}
			got.Classify = nil
			if diff := cmp.Diff(idem.Config{}.WithDefaults(), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a value means is said by its key, not by YAML's rules for what looks like a number.
func TestValuesAreTakenAsTheyAreWritten(t *testing.T) {
	c, err := Load(Source{Path: write(t, `
postgres: {dsn: 0123, schema: no, claimWait: "1d1h"}
kafka:
  brokers: "a:1, b:2"
  version: 3.10.0
  sasl: {user: 007, password: 1e3}
consumers:
  123: {concurrency: "7", ratePerSecond: 1}
  my.consumer: {unordered: false}
sqlite:
  path: >-
    a
    b
`)})
	if err != nil {
		t.Fatal(err)
	}
	want := idem.Config{}.WithDefaults()
	want.Postgres.DSN, want.Postgres.Schema, want.Postgres.ClaimWait = "0123", "no", 25*time.Hour
	want.Kafka.Brokers, want.Kafka.Version = []string{"a:1", "b:2"}, "3.10.0"
	want.Kafka.SASL.User, want.Kafka.SASL.Password, want.Kafka.SASL.Mechanism = "007", "1e3", "PLAIN"
	want.SQLite.Path = "a b"
	want.Consumers = map[string]idem.OperationConfig{
		"123":         {Concurrency: new(7), RatePerSecond: new(1.0)},
		"my.consumer": {Unordered: new(false)},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestVariablesInValues(t *testing.T) {
	path := write(t, `
postgres:
  dsn: postgres://app:${PW}@${HOST:-db}:${PORT:-5432}/app$${x}${EMPTY}
  maxConns: ${CONNS}
kafka: {brokers: "${BROKERS}"}
`)
	c, err := Load(Source{Path: path, Env: []string{"PW=s3cret: {}", "PORT=", "EMPTY=", "CONNS=9", "BROKERS=a:1,b:2"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(c.Postgres.DSN), "postgres://app:s3cret: {}@db:5432/app${x}"; got != want {
		t.Errorf("dsn = %q, want %q", got, want)
	}
	if c.Postgres.MaxConns != 9 || len(c.Kafka.Brokers) != 2 {
		t.Errorf("maxConns = %d, brokers = %q", c.Postgres.MaxConns, c.Kafka.Brokers)
	}
}

func TestWhichFileIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	if c, err := Load(Source{}); err != nil || c.Transport != "sqlite" {
		t.Errorf("without a file: transport %q, error %v", c.Transport, err)
	}
	if got := problems(Source{Overrides: []string{"transport=kafka"}}); !cmp.Equal(got, []string{
		"configuration: kafka.brokers: must name at least one broker for transport kafka (in idem.yaml or as IDEM_KAFKA_BROKERS, such as localhost:9092)",
	}) {
		t.Errorf("problems without a file: %q", got)
	}
	if err := os.WriteFile(DefaultPath, []byte("transport: memory\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(Source{}); err != nil || c.Transport != "memory" {
		t.Errorf("with idem.yaml: transport %q, error %v", c.Transport, err)
	}
	_, err := Load(Source{Path: "other.yaml"})
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "other.yaml: does not exist" {
		t.Errorf("a named file that is missing: %v", err)
	}
	if _, err = Load(Source{Path: t.TempDir()}); err == nil || !strings.HasSuffix(err.Error(), ": cannot be read: is a directory") {
		t.Errorf("a folder: %v", err)
	}
}

// The parser needs quadratic time and gigabytes for some of these.
func TestHostileFilesAreRefusedQuickly(t *testing.T) {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += strings.ReplaceAll("C: &C [P,P,P,P,P,P,P,P,P]\n", "P", "*"+string(c-1))
		laughs = strings.ReplaceAll(laughs, "C", string(c))
	}
	for name, file := range map[string]string{
		"ten megabytes":      strings.Repeat("store: memory\n", 10<<20/14),
		"one long value":     "store: " + strings.Repeat("x", 10<<20),
		"alias bomb":         laughs,
		"open brackets":      strings.Repeat("[", maxBytes),
		"open braces":        strings.Repeat("{a: ", maxBytes/4),
		"closed brackets":    strings.Repeat("[", maxTokens/2) + strings.Repeat("]", maxTokens/2),
		"lists in one line":  strings.Repeat("- ", maxTokens-1) + "a",
		"sections in a line": strings.Repeat("a: ", maxTokens/2-1),
		"many keys":          strings.Repeat("a: 1\n", maxTokens/3-1),
		"many tags":          strings.Repeat("!a ", maxBytes/3),
		"deep sections":      nested(450),
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, file)
			began := time.Now()
			_, err := Load(Source{Path: path})
			took := time.Since(began)
			if err == nil {
				t.Fatal("was accepted")
			}
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
			if len(err.Error()) > 100<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			t.Logf("%v: %.120v", took, err)
		})
	}
}

func TestAPanicOfTheParserIsAnError(t *testing.T) {
	if _, err := guard(func() (int, error) { panic("x") }); err == nil {
		t.Error("no error")
	}
}

func nested(depth int) string {
	var file strings.Builder
	for i := range depth {
		file.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return file.String()
}

func TestAnEndlessFileIsRefused(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("needs /dev/zero")
	}
	if got := problems(Source{Path: "/dev/zero"}); len(got) != 1 || got[0] != "idem.yaml: is larger than 128 KiB" {
		t.Errorf("problems = %q", got)
	}
}
