package idem

import (
	"errors"
	"fmt"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConfigError is one thing that is wrong with a [Config].
type ConfigError struct {
	// Path is the key, such as "consumers.charge.policy.timeout" or "kafka.brokers[1]".
	Path string
	// Problem says what is wrong and how to fix it.
	Problem string
}

func (e *ConfigError) Error() string { return e.Path + ": " + e.Problem }

// Validate returns everything that is wrong, joined; every part is a
// [*ConfigError]. Zero fields count as their defaults. Sections that the
// transport and the store do not use are checked as well, except for what they
// require.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var e configErrors
	e.oneOf("transport", c.Transport, nameSQLite, namePostgres, nameKafka, nameMemory)
	e.oneOf("store", c.Store, nameSQLite, namePostgres, nameMemory)
	e.oneOf("sqlite.synchronous", c.SQLite.Synchronous, "full", "normal")
	for _, p := range []struct{ path, prefix string }{{"topicPrefix", c.TopicPrefix}, {"groupPrefix", c.GroupPrefix}} {
		e.check(p.prefix == "" || len(p.prefix) <= 60 && validName(p.prefix), p.path, "must be at most 60 letters, digits, '.', '_' or '-'")
	}
	c.checkPostgres(&e)
	c.checkKafka(&e)
	e.least("queue.lease", c.Queue.Lease, 50*time.Millisecond)
	e.least("queue.pollInterval", c.Queue.PollInterval, time.Millisecond)
	e.least("queue.retention", c.Queue.Retention, time.Millisecond)
	e.within("outbox.batch", c.Outbox.Batch, 1, 10_000)
	e.least("outbox.pollInterval", c.Outbox.PollInterval, time.Millisecond)
	e.least("outbox.lease", c.Outbox.Lease, 50*time.Millisecond)
	e.least("drainTimeout", c.DrainTimeout, time.Millisecond)
	e.least("sweepEvery", c.SweepEvery, time.Millisecond)
	e.oneOf("log.format", c.Log.Format, "text", "json")
	for _, name := range sortedKeys(c.Breakers) {
		at, b := "breakers."+name, c.Breakers[name]
		e.check(validName(name), at, nameRule)
		e.within(at+".failures", b.Failures, 1, math.MaxInt32)
		e.least(at+".openFor", b.OpenFor, time.Millisecond)
		e.within(at+".probes", b.Probes, 1, math.MaxInt32)
	}
	for i, r := range c.Classify {
		r.validate(&e, fmt.Sprintf("classify[%d]", i))
	}
	c.Defaults.validate(&e, "defaults", c)
	for _, name := range sortedKeys(c.Consumers) {
		at := "consumers." + name
		e.check(validName(name), at, nameRule)
		c.Consumers[name].validate(&e, at, c)
	}
	return errors.Join(e...)
}

// CheckConsumers returns an error for each block of Consumers whose name is
// not among the given ones, those of the registered operations.
func (c Config) CheckConsumers(names []string) error {
	var e configErrors
	for _, name := range sortedKeys(c.Consumers) {
		if slices.Contains(names, name) {
			continue
		}
		e.check(false, "consumers."+name, "no consumer has this name%s", didYouMean(name, names, "remove the block, or register the operation"))
	}
	return errors.Join(e...)
}

var (
	prefixPattern       = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,29}$`)
	kafkaVersionPattern = regexp.MustCompile(`^(2\.[1-9][0-9]?|[3-9]\.[0-9]{1,2})\.[0-9]{1,2}$`)
)

const nameRule = "the name must be 1 to 120 letters, digits, '.', '_' or '-'"

func (c Config) checkPostgres(e *configErrors) {
	p := c.Postgres
	for _, user := range []struct{ key, value string }{{"transport", c.Transport}, {"store", c.Store}} {
		if user.value == namePostgres && p.DSN == "" {
			e.check(false, "postgres.dsn", "must be set for %s postgres (in idem.yaml or as IDEM_POSTGRES_DSN, such as postgres://app:${DB_PASSWORD}@localhost/app)", user.key)
			break
		}
	}
	e.check(len(p.Schema) <= 63 && !strings.ContainsRune(p.Schema, 0), "postgres.schema", "must be an identifier of at most 63 bytes")
	e.check(prefixPattern.MatchString(p.TablePrefix), "postgres.tablePrefix", "must be at most 30 lower-case letters, digits and underscores, not starting with a digit")
	e.within("postgres.maxConns", p.MaxConns, 0, 10_000)
	e.within("postgres.queueMaxConns", p.QueueMaxConns, 2, 10_000)
	e.least("postgres.claimWait", p.ClaimWait, time.Millisecond)
}

func (c Config) checkKafka(e *configErrors) {
	k := c.Kafka
	e.check(c.Transport != nameKafka || len(k.Brokers) > 0, "kafka.brokers", "must name at least one broker for transport kafka (in idem.yaml or as IDEM_KAFKA_BROKERS, such as localhost:9092)")
	for i, b := range k.Brokers {
		host, port, err := net.SplitHostPort(b)
		n, wrong := strconv.ParseUint(port, 10, 16)
		e.check(err == nil && host != "" && wrong == nil && n > 0, fmt.Sprintf("kafka.brokers[%d]", i), "must be host:port, such as localhost:9092")
	}
	e.check(kafkaVersionPattern.MatchString(k.Version), "kafka.version", "must be a version of at least 2.1.0 with three numbers, such as 2.8.0")
	e.within("kafka.partitions", k.Partitions, 0, math.MaxInt32)
	e.within("kafka.replicationFactor", k.ReplicationFactor, 0, math.MaxInt16)
	e.within("kafka.window", k.Window, 1, 1_000_000)
	e.least("kafka.sessionTimeout", k.SessionTimeout, 100*time.Millisecond)
	e.check(k.TLS.Enabled || k.TLS.CAFile == "", "kafka.tls.caFile", "has no effect without TLS (set kafka.tls.enabled: true)")
	if k.SASL.Mechanism != "" || k.SASL.Password != "" {
		e.check(k.SASL.User != "", "kafka.sasl.user", "must be set to log in")
	}
	if k.SASL.Mechanism != "" {
		e.oneOf("kafka.sasl.mechanism", k.SASL.Mechanism, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
		e.check(k.SASL.Password != "", "kafka.sasl.password", "must be set to log in")
	}
}

func (r RuleConfig) validate(e *configErrors, at string) {
	if r == (RuleConfig{Class: r.Class}) {
		e.check(false, at, "must have a condition (sqlState, http, grpc or type)")
	}
	for _, part := range []struct {
		key, value, must string
		rule             Rule
	}{
		{"sqlState", r.SQLState, "must be up to 5 digits and capitals, such as 40001 or 23", Rule{SQLState: r.SQLState}},
		{"http", r.HTTP, "must be a status, such as 404 or 5xx", Rule{HTTP: r.HTTP}},
		{"grpc", r.GRPC, "must be the name of a gRPC status code, such as NotFound", Rule{GRPC: r.GRPC}},
	} {
		part.rule.Class = ClassTransient
		e.check(part.value == "" || part.rule.Validate() == nil, at+"."+part.key, "%s", part.must)
	}
	_, err := ParseClass(string(r.Class))
	e.check(err == nil, at+".class", "must be the name of a class, such as transient or permanent")
}

func (o OperationConfig) validate(e *configErrors, at string, c Config) {
	given(o.Concurrency, func(n int) { e.within(at+".concurrency", n, 1, 10_000) })
	given(o.Transaction, func(m TransactionMode) {
		e.oneOf(at+".transaction", string(m), string(TransactionOwn), string(TransactionGroup))
	})
	given(o.Group.Size, func(n int) { e.within(at+".group.size", n, 1, 10_000) })
	given(o.Group.Wait, func(d time.Duration) { e.least(at+".group.wait", d, time.Nanosecond) })
	given(o.Group.Budget, func(d time.Duration) { e.least(at+".group.budget", d, time.Millisecond) })
	given(o.Group.Parallel, func(n int) { e.within(at+".group.parallel", n, 1, 1000) })
	given(o.RatePerSecond, func(r float64) {
		e.check(r >= 0 && !math.IsInf(r, 0), at+".ratePerSecond", "must not be negative, is %v (0 is unlimited)", r)
	})
	given(o.Retention, func(d time.Duration) { e.least(at+".retention", d, time.Millisecond) })
	given(o.DeadLetterTopic, func(s string) {
		e.check(s == "" || s == NoDeadLetterTopic || validName(s), at+".deadLetterTopic", "%s; or %q for none", nameRule, NoDeadLetterTopic)
	})
	given(o.OnMissingKey, func(m MissingKey) {
		e.oneOf(at+".onMissingKey", string(m), string(MissingDeadLetters), string(MissingFails), string(MissingDerives))
	})
	given(o.OnKeyReuse, func(k KeyReuse) {
		e.oneOf(at+".onKeyReuse", string(k), string(ReuseDeadLetters), string(ReuseDiscards))
	})
	given(o.Dependency, func(name string) {
		_, declared := c.Breakers[name]
		e.check(name == "" || declared, at+".dependency", "is not the name of a breaker%s", didYouMean(name, sortedKeys(c.Breakers), "declare it under breakers"))
	})
	o.Policy.validate(e, at+".policy", c.Defaults.Policy)
}

func (p PolicyConfig) validate(e *configErrors, at string, defaults PolicyConfig) {
	given(p.MaxAttempts, func(n int) {
		e.check(n >= 1, at+".maxAttempts", "must be at least 1, is %d (1 is no retry)", n)
	})
	given(p.Quick, func(n int) { e.check(n >= 0, at+".quick", "must be at least 0, is %d (0 is none)", n) })
	given(p.QuickDelay, func(d time.Duration) {
		e.check(d > 0 && d <= 500*time.Millisecond, at+".quickDelay", "must be positive and at most 500ms, is %v (quick: 0 turns these retries off)", d)
	})
	given(p.Timeout, func(d time.Duration) { e.least(at+".timeout", d, time.Millisecond) })
	given(p.OnBug, func(b BugPolicy) { e.oneOf(at+".onBug", string(b), string(BugPauses), string(BugDeadLetters)) })
	given(p.MaxDeliveries, func(n int) {
		e.check(n >= 0, at+".maxDeliveries", "must be at least 0, is %d (0 is no limit)", n)
	})
	given(p.MaxRetryAfter, func(d time.Duration) { e.least(at+".maxRetryAfter", d, time.Millisecond) })
	given(p.Backoff.Base, func(d time.Duration) { e.least(at+".backoff.base", d, time.Nanosecond) })
	given(p.Backoff.Max, func(d time.Duration) { e.least(at+".backoff.max", d, time.Nanosecond) })
	given(p.Backoff.Factor, func(f float64) {
		e.check(f >= 1 && !math.IsInf(f, 0), at+".backoff.factor", "must be at least 1, is %v (1 is a constant delay)", f)
	})
	longest, first := p.Backoff.Max, p.Backoff.Base
	if longest == nil {
		longest = defaults.Backoff.Max
	}
	if first == nil {
		first = defaults.Backoff.Base
	}
	if own := p.Backoff.Max != nil || p.Backoff.Base != nil; own && longest != nil && first != nil {
		e.check(*longest >= *first, at+".backoff", "max must not be below base, is %v below %v", *longest, *first)
	}
}

func given[T any](value *T, check func(T)) {
	if value != nil {
		check(*value)
	}
}

type configErrors []error

func (e *configErrors) check(ok bool, path, format string, args ...any) {
	if !ok {
		*e = append(*e, &ConfigError{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

// oneOf does not show the value: it may be a secret in the wrong place.
func (e *configErrors) oneOf(path, value string, allowed ...string) {
	last := len(allowed) - 1
	e.check(slices.Contains(allowed, value), path, "must be %s or %s%s", strings.Join(allowed[:last], ", "), allowed[last], didYouMean(value, allowed, ""))
}

func (e *configErrors) within(path string, n, least, most int) {
	e.check(n >= least && n <= most, path, "must be within %d..%d, is %d", least, most, n)
}

func (e *configErrors) least(path string, d, least time.Duration) {
	e.check(d >= least, path, "must be at least %v, is %v", least, d)
}

// didYouMean asks whether a known name was meant, and else gives the other advice.
func didYouMean(name string, known []string, otherwise string) string {
	if near := Closest(name, known); near != "" {
		return " (did you mean " + near + "?)"
	}
	if otherwise == "" {
		return ""
	}
	return " (" + otherwise + ")"
}
