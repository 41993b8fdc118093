package idem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestConfigOverridesAnOperation(t *testing.T) {
	code := Operation{
		Name: "charge", Topic: "orders", Concurrency: 3, RatePerSecond: 7, Unordered: true, Dependency: "bank",
		Policy: Policy{MaxAttempts: 9, Timeout: time.Minute, Backoff: Backoff{Base: time.Second}},
	}
	if diff := cmp.Diff(code, Config{}.Apply(code)); diff != "" {
		t.Errorf("an empty configuration changes the operation:\n%s", diff)
	}
	var c Config
	c.Defaults = OperationConfig{
		Concurrency: new(4), Retention: new(time.Hour), DeadLetterTopic: new(NoDeadLetterTopic), OnMissingKey: new(MissingDerives), OnKeyReuse: new(ReuseDiscards),
		Policy: PolicyConfig{MaxAttempts: new(2), OnBug: new(BugDeadLetters), QuickDelay: new(time.Millisecond)},
	}
	own := OperationConfig{
		Concurrency: new(5), RatePerSecond: new(0.0), Unordered: new(false), Dependency: new(""),
		Policy: PolicyConfig{Quick: new(0), MaxDeliveries: new(0), MaxRetryAfter: new(time.Second)},
	}
	own.Policy.Backoff.Max, own.Policy.Backoff.Factor = new(time.Hour), new(3.0)
	c.Consumers = map[string]OperationConfig{"charge": own, "other": {Concurrency: new(99)}}

	want := Operation{
		Name: "charge", Topic: "orders", Concurrency: 5, Retention: time.Hour, DeadLetterTopic: NoDeadLetterTopic, OnMissingKey: MissingDerives, OnKeyReuse: ReuseDiscards,
		Policy: Policy{
			MaxAttempts: 2, Quick: -1, QuickDelay: time.Millisecond, Timeout: time.Minute, OnBug: BugDeadLetters,
			MaxDeliveries: -1, MaxRetryAfter: time.Second, Backoff: Backoff{Base: time.Second, Max: time.Hour, Factor: 3},
		},
	}
	if diff := cmp.Diff(want, c.Apply(code)); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
	if p := c.Apply(code).Policy.WithDefaults(); p.Quick > 0 {
		t.Errorf("quick: 0 means %d retries in the process, want none", p.Quick)
	}
}

func TestStoreFollowsTheTransport(t *testing.T) {
	for _, test := range []struct {
		transport, store string
		dsn              DSN
		want             string
	}{
		{"", "", "", "sqlite"}, {"", "", "host=db", "sqlite"}, {"memory", "", "", "memory"}, {"postgres", "", "host=db", "postgres"},
		{"kafka", "", "", "sqlite"}, {"kafka", "", "host=db", "postgres"}, {"kafka", "memory", "host=db", "memory"}, {"pulsar", "", "", "sqlite"},
	} {
		c := Config{Transport: test.transport, Store: test.store}
		c.Postgres.DSN = test.dsn
		if got := c.WithDefaults().Store; got != test.want {
			t.Errorf("transport %q, store %q, dsn %q: store is %s, want %s", test.transport, test.store, test.dsn, got, test.want)
		}
	}
}

func TestConfigWithDefaultsLeavesTheOriginal(t *testing.T) {
	c := Config{Breakers: map[string]BreakerConfig{"a": {}}}
	if got := c.WithDefaults().Breakers["a"]; got != (BreakerConfig{Failures: 5, OpenFor: 10 * time.Second, Probes: 1}) {
		t.Errorf("breaker = %+v", got)
	}
	if c.Breakers["a"] != (BreakerConfig{}) {
		t.Errorf("the original was changed: %+v", c.Breakers)
	}
}

func TestConfigValidate(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
	var c Config
	c.Transport, c.Store, c.SQLite.Synchronous = "kafak", "kafka", "off"
	c.TopicPrefix, c.GroupPrefix = "a b.", "a/"
	c.Postgres.Schema, c.Postgres.TablePrefix, c.Postgres.MaxConns, c.Postgres.QueueMaxConns = strings.Repeat("x", 64), "1a", -1, 1
	c.Postgres.ClaimWait = -1
	c.Kafka.Brokers = []string{"a:1", "a", ":1", "a:0", "a:65536", "[::1]:9092"}
	c.Kafka.Version, c.Kafka.Partitions, c.Kafka.ReplicationFactor, c.Kafka.Window = "2.0.0", -1, 1<<15, -1
	c.Kafka.SessionTimeout, c.Kafka.TLS.CAFile, c.Kafka.SASL.Password = time.Millisecond, "ca.pem", "x"
	c.Queue.Lease, c.Queue.PollInterval, c.Queue.Retention = time.Millisecond, -1, -1
	c.Outbox.Batch, c.Outbox.PollInterval, c.Outbox.Lease = -1, -1, -1
	c.DrainTimeout, c.SweepEvery, c.Log.Format = -1, -1, "xml"
	c.Breakers = map[string]BreakerConfig{"a b": {Failures: -1, OpenFor: -1, Probes: -1}}
	c.Classify = []RuleConfig{{}, {HTTP: "9xx", GRPC: "Nope", SQLState: "lower", Class: ClassBug}, {Type: "x", Class: "nope"}}
	c.Defaults = OperationConfig{
		Transaction: new(TransactionExternal), Group: GroupConfig{Size: new(0), Wait: new(time.Duration(0)), Budget: new(time.Duration(0)), Parallel: new(0)},
		Concurrency: new(0), RatePerSecond: new(-1.0), Retention: new(time.Duration(0)), DeadLetterTopic: new("a b"), OnMissingKey: new(MissingKey("x")), OnKeyReuse: new(KeyReuse("x")), Dependency: new("b"),
	}
	p := PolicyConfig{
		MaxAttempts: new(0), Quick: new(-1), QuickDelay: new(time.Second), Timeout: new(time.Duration(0)),
		OnBug: new(BugPolicy("")), MaxDeliveries: new(-1), MaxRetryAfter: new(time.Duration(0)),
	}
	p.Backoff.Base, p.Backoff.Max, p.Backoff.Factor = new(time.Duration(0)), new(time.Duration(-1)), new(0.5)
	c.Consumers = map[string]OperationConfig{"": {}, "x": {Policy: p}}

	want := []string{
		"transport", "store", "sqlite.synchronous", "topicPrefix",
		"groupPrefix",
		"postgres.schema", "postgres.tablePrefix", "postgres.maxConns", "postgres.queueMaxConns", "postgres.claimWait",
		"kafka.brokers[1]", "kafka.brokers[2]", "kafka.brokers[3]", "kafka.brokers[4]",
		"kafka.version", "kafka.partitions", "kafka.replicationFactor", "kafka.window", "kafka.sessionTimeout", "kafka.tls.caFile", "kafka.sasl.user",
		"queue.lease", "queue.pollInterval", "queue.retention", "outbox.batch", "outbox.pollInterval", "outbox.lease",
		"drainTimeout", "sweepEvery", "log.format",
		"breakers.a b", "breakers.a b.failures", "breakers.a b.openFor", "breakers.a b.probes",
		"classify[0]", "classify[0].class", "classify[1].sqlState", "classify[1].http", "classify[1].grpc", "classify[2].class",
		"defaults.concurrency", "defaults.transaction", "defaults.group.size", "defaults.group.wait", "defaults.group.budget", "defaults.group.parallel", "defaults.ratePerSecond", "defaults.retention", "defaults.deadLetterTopic", "defaults.onMissingKey", "defaults.onKeyReuse", "defaults.dependency",
		"consumers.",
		"consumers.x.policy.maxAttempts", "consumers.x.policy.quick", "consumers.x.policy.quickDelay", "consumers.x.policy.timeout",
		"consumers.x.policy.onBug", "consumers.x.policy.maxDeliveries", "consumers.x.policy.maxRetryAfter",
		"consumers.x.policy.backoff.base", "consumers.x.policy.backoff.max", "consumers.x.policy.backoff.factor", "consumers.x.policy.backoff",
	}
	if diff := cmp.Diff(want, paths(t, c.Validate())); diff != "" {
		t.Errorf("paths of the problems (-want +got):\n%s", diff)
	}
}

func TestConfigRequiresWhatTheTransportNeeds(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{Transport: "kafka"}, "kafka.brokers: must name at least one broker for transport kafka (in idem.yaml or as IDEM_KAFKA_BROKERS, such as localhost:9092)"},
		{Config{Transport: "postgres"}, "postgres.dsn: must be set for transport postgres (in idem.yaml or as IDEM_POSTGRES_DSN, such as postgres://app:${DB_PASSWORD}@localhost/app)"},
		{Config{Store: "postgres"}, "postgres.dsn: must be set for store postgres (in idem.yaml or as IDEM_POSTGRES_DSN, such as postgres://app:${DB_PASSWORD}@localhost/app)"},
		{Config{Store: "postgress"}, "store: must be sqlite, postgres or memory (did you mean postgres?)"},
		{Config{Consumers: map[string]OperationConfig{"a": {Policy: PolicyConfig{MaxAttempts: new(0)}}}}, "consumers.a.policy.maxAttempts: must be at least 1, is 0 (1 is no retry)"},
	} {
		if err := test.config.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("problem %v\nwant %s", err, test.want)
		}
	}
}

// The longest delay of one consumer may come from defaults and the shortest from its own block.
func TestConfigComparesABackoffWithTheDefaults(t *testing.T) {
	var c Config
	c.Defaults.Policy.Backoff.Max = new(time.Second)
	var own OperationConfig
	own.Policy.Backoff.Base = new(time.Minute)
	c.Consumers = map[string]OperationConfig{"a": own, "b": {}}
	if diff := cmp.Diff([]string{"consumers.a.policy.backoff"}, paths(t, c.Validate())); diff != "" {
		t.Errorf("paths of the problems (-want +got):\n%s", diff)
	}
}

func TestConfiguredConsumersMustExist(t *testing.T) {
	c := Config{Consumers: map[string]OperationConfig{"charge": {}, "chrage": {}, "warehouse": {}}}
	err := c.CheckConsumers([]string{"charge", "notify"})
	want := "consumers.chrage: no consumer has this name (did you mean charge?)\n" +
		"consumers.warehouse: no consumer has this name (remove the block, or register the operation)"
	if err == nil || err.Error() != want {
		t.Errorf("problem %v\nwant %s", err, want)
	}
	if err := c.CheckConsumers([]string{"charge", "chrage", "warehouse", "more"}); err != nil {
		t.Errorf("all exist: %v", err)
	}
}

func TestConfiguredRulesComeBeforeWhatIsKnown(t *testing.T) {
	c := Config{Classify: []RuleConfig{{Type: "PathError", Class: ClassIgnorable}}}
	if got := c.Classifier().Classify(&os.PathError{Err: errors.New("x")}); got != ClassIgnorable {
		t.Errorf("class %q, want %q", got, ClassIgnorable)
	}
}

func paths(t *testing.T, err error) []string {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("error %v", err)
	}
	var paths []string
	for _, part := range joined.Unwrap() {
		e, ok := errors.AsType[*ConfigError](part)
		if !ok || e.Problem == "" {
			t.Fatalf("%T %v", part, part)
		}
		paths = append(paths, e.Path)
	}
	return paths
}

// framework/config/sample.yaml shows what an operation has without configuration.
func TestConfigSampleShowsTheDefaultsOfAnOperation(t *testing.T) {
	sample, err := os.ReadFile("../config/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	op := Operation{}.withDefaults()
	_, defaults, _ := bytes.Cut(sample, []byte("\ndefaults:"))
	lines := strings.Fields(string(defaults))
	for key, want := range map[string]any{
		"#concurrency:": op.Concurrency, "#ratePerSecond:": op.RatePerSecond, "#unordered:": op.Unordered, "#onMissingKey:": op.OnMissingKey,
		"#retention:": fmt.Sprintf("%.0fd", op.Retention.Hours()/24), "#maxAttempts:": op.Policy.MaxAttempts, "#timeout:": op.Policy.Timeout,
	} {
		i := slices.Index(lines, key)
		if i < 0 || lines[i+1] != fmt.Sprint(want) {
			t.Errorf("the sample does not say %s %v", key, want)
		}
	}
}

func TestPrintingAConfigShowsNoPassword(t *testing.T) {
	const secret = "hunter2"
	var c Config
	c.Postgres.DSN = "postgres://app:" + secret + "@db:5432/app?sslmode=disable&sslpassword=" + secret
	c.Kafka.SASL.User, c.Kafka.SASL.Password = "app", secret
	c.Consumers = map[string]OperationConfig{"charge": {Concurrency: new(4)}}
	c.Classify = []RuleConfig{{HTTP: "5xx", Class: ClassTransient}}
	const want = "postgres.dsn=postgres://app:xxxxx@db:5432/app?xxxxx kafka.sasl.user=app kafka.sasl.password=xxxxx " +
		"classify[0].http=5xx classify[0].class=transient consumers.charge.concurrency=4"
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, c); got != want {
			t.Errorf("%s prints %s\nwant %s", verb, got, want)
		}
	}
	var all bytes.Buffer
	for _, value := range []any{c, &c, c.Postgres, &c.Kafka, c.Postgres.DSN, &c.Postgres.DSN, c.Kafka.SASL, c.Kafka.SASL.Password, []any{c}, map[string]Config{"": c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T%v", "%30v", "%t"} {
			fmt.Fprintf(&all, verb, value)
		}
		slog.New(slog.NewTextHandler(&all, nil)).Info("config", "value", value)
		slog.New(slog.NewJSONHandler(&all, nil)).Info("config", "value", value)
		if err := json.NewEncoder(&all).Encode(value); err != nil {
			t.Error(err)
		}
	}
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%v", []byte(secret))} {
		if strings.Contains(all.String(), form) {
			t.Errorf("%q is shown in\n%s", form, all.String())
		}
	}
	for _, shown := range []string{"config.postgres.dsn", `"kafka.sasl.user":"app"`} {
		if !strings.Contains(strings.ReplaceAll(all.String(), "value.", "config."), shown) {
			t.Errorf("%q is not in\n%s", shown, all.String())
		}
	}
}

func TestDSNShowsWhatIsCertainlyNoSecret(t *testing.T) {
	for dsn, want := range map[DSN]string{
		"":                                  "",
		"postgres://db/app":                 "postgres://db/app",
		"postgres://app@db/app":             "postgres://app@db/app",
		"postgresql://app:pw@db:1/app":      "postgresql://app:xxxxx@db:1/app",
		"postgres://db/app?password=pw":     "postgres://db/app?xxxxx",
		"postgres://app:p@w@db/app":         "xxxxx",
		"postgres://app:p/w@db/app":         "xxxxx",
		"postgres://app:1/w@db/app":         "xxxxx",
		"postgres://app:1?w@db/app":         "xxxxx",
		"postgres://app:1#w@db/app":         "xxxxx",
		"postgres://app:1#w":                "xxxxx",
		"postgres://app:%zz@db/app":         "xxxxx",
		"postgres:///app?host=/run&pass=pw": "xxxxx",
		"mysql://db/pw":                     "xxxxx",
		"x/y password=a://pw":               "xxxxx",
		"host=db user=app dbname=app":       "host=db user=app dbname=app",
		"host=db  password=pw sslmode=off":  "host=db password=xxxxx sslmode=off",
		"host=db sslpassword=pw":            "host=db xxxxx",
		"password = pw host=db":             "xxxxx",
		"password= pw=x":                    "xxxxx",
		"password='p w' host=db":            "xxxxx",
		`password=p\ host=w`:                "xxxxx",
		"hunter2":                           "xxxxx",
	} {
		if got := dsn.String(); got != want {
			t.Errorf("%q is shown as %q, want %q", string(dsn), got, want)
		}
	}
}

// Whatever the password is and however badly it is written.
func FuzzDSNNeverShowsThePassword(f *testing.F) {
	for _, password := range []string{"hunter2", "p@ss:w/rd", "1234/56@", "a b=c d", `\'host=`, "#?&%41", "@@@@", "://x y"} {
		f.Add(password)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if len(password) < 4 || strings.Contains("xxxxx", password) {
			return
		}
		for _, form := range []string{
			"postgres://me:%s@h:1/n", "postgres://me:%s@h", "postgres://h?password=%s", "postgres://h?user=u&password=%s&port=1",
			"host=h password=%s port=1", "password=%s", "password='%s' port=1", "password = %s",
		} {
			dsn := DSN(fmt.Sprintf(form, password))
			plain := fmt.Sprintf(form, "")
			if shown := dsn.String(); strings.Contains(shown, password) && !strings.Contains(plain, password) {
				t.Errorf("%q is shown as %q", string(dsn), shown)
			}
		}
	})
}

func TestClosest(t *testing.T) {
	known := []string{"brokers", "timeout", "maxAttempts", "dsn", "backoff"}
	for name, want := range map[string]string{
		"brokres": "brokers", "Brokers": "brokers", "timout": "timeout", "max_attempts": "maxAttempts", "dns": "dsn", "maxattempt": "maxAttempts",
		"": "", "x": "", "retries": "", "window": "", "dsnn": "dsn", strings.Repeat("brokers", 100): "",
	} {
		if got := Closest(name, known); got != want {
			t.Errorf("closest to %q is %q, want %q", name, got, want)
		}
	}
}
