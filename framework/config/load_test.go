package config

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
)

func TestFlagsOverrideTheEnvironmentAndThatTheFile(t *testing.T) {
	c, err := Load(Source{
		Path: write(t, "kafka: {brokers: [\"f:1\"], version: 2.1.0, clientId: file, window: 1}\nconsumers: {a: {concurrency: 1, ratePerSecond: 1}, b: {concurrency: 1}}\n"),
		Env: []string{
			"IDEM_KAFKA_BROKERS=e:1, e:2", "IDEM_KAFKA_VERSION=3.0.0", "IDEM_KAFKA_CLIENT_ID=env", "IDEM_KAFKA_WINDOW=",
			"IDEM_SET=kafka.version=3.1.0;consumers.a.concurrency=2\n consumers.new.policy.timeout = 2s ;",
		},
		Overrides: []string{"kafka.clientId=flag", "kafka.clientId=last=flag", "consumers.a.policy.quick=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := idem.Config{}.WithDefaults()
	want.Kafka.Brokers, want.Kafka.Version = []string{"e:1", "e:2"}, "3.1.0"
	want.Kafka.ClientID, want.Kafka.Window = "last=flag", 1
	want.Consumers = map[string]idem.OperationConfig{
		"a":   {Concurrency: new(2), RatePerSecond: new(1.0), Policy: idem.PolicyConfig{Quick: new(0)}},
		"b":   {Concurrency: new(1)},
		"new": {Policy: idem.PolicyConfig{Timeout: new(2 * time.Second)}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemsNameTheVariableOrTheFlag(t *testing.T) {
	got := problems(Source{
		Path: write(t, "kafka: {window: x}\nstore: pg\n"),
		Env: []string{
			"IDEM_KAFKA_WINDOW=0.5", "IDEM_KAFKA_BROKRES=a:1", "IDEM_LOG_FORMAT=xml", "IDEM_DRAIN_TIMEOUT=soon",
			"IDEM_SET=kafka.window=-1;nonsense",
		},
		Overrides: []string{
			"store=mysql", "outbox=1", "outbox.batsh=1", "log.level.x=1", "classify=bug", "consumers.a=1", "=", "hunter2",
			"consumers.a.policy.timout=1s", "kafka.partitions=-1", "consumers.a.b.concurrency=0", "breakers..failures=1",
		},
	})
	want := []string{
		"idem.yaml:1:17: kafka.window: must be a whole number",
		"IDEM_DRAIN_TIMEOUT: drainTimeout: must be a duration (such as 30s, 250ms, 1h30m or 7d)",
		"IDEM_KAFKA_BROKRES: unknown variable (did you mean IDEM_KAFKA_BROKERS?)",
		"IDEM_KAFKA_WINDOW: kafka.window: must be a whole number",
		"IDEM_SET: must be path=value (such as log.level=debug)",
		"IDEM_SET: kafka.window: must be within 1..1000000, is -1",
		"IDEM_LOG_FORMAT: log.format: must be text or json",
		"-set: outbox: is a section (name one of its keys)",
		"-set: outbox.batsh: unknown key (did you mean batch?)",
		"-set: log.level.x: unknown key (the key before it is a single value)",
		"-set: classify: can be set in the file only",
		"-set: consumers.a: is a section (name one of its keys)",
		"-set: must be path=value (such as log.level=debug)",
		"-set: must be path=value (such as log.level=debug)",
		"-set: consumers.a.policy.timout: unknown key (did you mean timeout?)",
		"-set: breakers..failures: is a section (name one of its keys)",
		`-set: store: must be sqlite, postgres or memory`,
		"-set: kafka.partitions: must be within 0..2147483647, is -1",
		"-set: consumers.a.b.concurrency: must be within 1..10000, is 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// Kubernetes gives every container variables of the services around it, and
// tests have their own.
func TestVariablesOfOthersAreLeftAlone(t *testing.T) {
	var env []string
	for _, service := range []string{"IDEM", "IDEM_KAFKA", "IDEM_POSTGRES", "IDEM_SQLITE", "IDEM_CONSOLE", "IDEM_LOG", "IDEM_QUEUE"} {
		for _, suffix := range []string{
			"SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_9092_TCP", "PORT_9092_TCP_PROTO", "PORT_9092_TCP_PORT", "PORT_9092_TCP_ADDR",
		} {
			env = append(env, service+"_"+suffix+"=tcp://10.0.0.1:9092")
		}
	}
	env = append(env, "IDEM_TEST_POSTGRES=x", "IDEM_TEST_KAFKA=x", "IDEM_TEST_CHROMIUM=x", "IDEM_REQUIRE=postgres,kafka",
		"IDEM_CONFORMANCE_REPORT=x", "IDEM_CONFORMANCE_REVISION=x", "IDEM=1", "PATH=/bin", "broken")
	if got := problems(Source{Path: write(t, ""), Env: env}); got != nil {
		t.Errorf("problems = %q", got)
	}
}

func TestFlags(t *testing.T) {
	path := write(t, "log: {format: json}\n")
	set := flag.NewFlagSet("app", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	flags := Bind(set)
	flags.Key("brokers", "kafka.brokers", "`addresses` of Kafka")
	if err := set.Parse([]string{"-config", path, "-set", "transport=memory", "-transport", "kafka", "-brokers", "a:1", "-set", "kafka.window=5"}); err != nil {
		t.Fatal(err)
	}
	src := flags.Source()
	if len(src.Env) != len(os.Environ()) {
		t.Error("the source has not the environment of the process")
	}
	src.Env = nil
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	if c.Transport != "kafka" || c.Log.Format != "json" || c.Kafka.Window != 5 || len(c.Kafka.Brokers) != 1 {
		t.Errorf("config = %v", c)
	}
	if err := set.Parse([]string{"-brokers", "bad", "-set", "store=x"}); err != nil {
		t.Fatal(err)
	}
	src = flags.Source()
	src.Env, src.Overrides = nil, append(src.Overrides, "log.format=x")
	want := []string{
		`-set: store: must be sqlite, postgres or memory`,
		"-brokers: kafka.brokers[0]: must be host:port, such as localhost:9092",
		`-set: log.format: must be text or json`,
	}
	if diff := cmp.Diff(want, problems(src)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A password that lands in the wrong place must not be printed back.
func TestNoProblemShowsASecret(t *testing.T) {
	const secret = "hunter2"
	dsn := "postgres://app:" + secret + "@db/app"
	for path := range settings() {
		for _, text := range []string{dsn, secret} {
			sources := []Source{
				{Env: []string{variable(path) + "=" + text}},
				{Env: []string{"IDEM_SET=" + path + "=" + text}},
				{Overrides: []string{path + "=" + text}},
				{Overrides: []string{path + "x=" + text}},
				{Path: write(t, yamlAt(path, "${X}")), Env: []string{"X=" + text}},
				{Path: write(t, yamlAt(path, `"`+text))},
				{Path: write(t, yamlAt(path, "{"+text+": 1"))},
			}
			for _, src := range sources {
				if c, err := Load(src); err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s = %q: %v", path, text, err)
				} else if path == "postgres.dsn" || path == "kafka.sasl.password" {
					if shown := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(shown, secret) {
						t.Errorf("%s = %q is shown: %s", path, text, shown)
					}
				}
			}
		}
	}
}

func settings() map[string]bool {
	paths := map[string]bool{}
	for _, path := range variables() {
		paths[path] = true
	}
	return paths
}

// yamlAt is a file with one value.
func yamlAt(path, value string) string {
	names := strings.Split(path, ".")
	var file strings.Builder
	for i, name := range names {
		file.WriteString("\n" + strings.Repeat(" ", i) + name + ":")
	}
	return file.String() + " " + value + "\n"
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"250ms": 250 * time.Millisecond, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "0": 0, "-1s": -time.Second,
	} {
		if got, ok := parseDuration(text); !ok || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "d", "1", "1dd", "1d-1h", "1d+1h", "-1d", "1.5d", "1d ", "7 d", "1h1d", "99999d", "999999d", "65535d2000000h", "1d9223372036854775807ns"} {
		if got, ok := parseDuration(text); ok && text != "65535d2000000h" || ok && got < 0 {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(Sample()), "log.level=debug")
	f.Add([]byte("kafka: {brokers: [\"${A}\", b:1]}\nconsumers: {a: {policy: {timeout: 1d}}}"), "consumers.a.b.concurrency=1")
	f.Add([]byte("a: &b [*b]\n--- |\n x\n? {}: >-\n !!t"), "=")
	f.Add([]byte("\xef\xbb\xbfstore: \"\\x00\"\r\nclassify: [{class: bug, http: 5xx}]"), "breakers.x.probes=1")
	path := write(f, "")
	f.Fuzz(func(t *testing.T, file []byte, override string) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Source{Path: path, Env: []string{"A=x", "IDEM_SET=" + override}, Overrides: []string{override}})
		if err == nil {
			if err = c.Validate(); err != nil {
				t.Errorf("Load returned what Validate refuses: %v", err)
			}
			return
		}
		for _, p := range err.(Problems) {
			if p.Source == "" || p.Message == "" || p.Line > 0 && p.Column < 1 {
				t.Errorf("a problem without place or message: %+v", p)
			}
		}
	})
}
