package jsonschemas_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/jsonschemas"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/source"
)

func compiled(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaErr is what the schema says about a document; nil is nothing.
func schemaErr(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return s.Validate(value)
}

const contract = `asyncapi: 3.0.0
info: {title: t, version: '1'}
channels:
  orders:
    address: orders
    messages:
      placed:
        payload: {type: object, required: [id], properties: {id: {type: string}}}
operations:
  place:
    action: receive
    channel: {$ref: '#/channels/orders'}
    x-idempotency: {key: $message.payload#/id}
`

// codeErr is what idemgen says about an x-idempotency object, wherever it is:
// here in a trait that nobody uses.
func codeErr(text string) error {
	doc := contract + "components:\n  operationTraits:\n    t:\n      x-idempotency: " + indent(text, "        ")
	var problems diag.List
	set := source.NewSet(fstest.MapFS{"asyncapi.yaml": {Data: []byte(doc)}}, &problems)
	asyncapi.Load(set, &problems, "asyncapi.yaml", asyncapi.Options{})
	return asError(&problems)
}

func indent(text, by string) string {
	if !strings.Contains(text, "\n") {
		return text + "\n"
	}
	return "\n" + by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}

func asError(problems *diag.List) error {
	if problems.Len() == 0 {
		return nil
	}
	return fmt.Errorf("%v", problems.Sorted())
}

var goodOptions = []string{
	`{}`, `{scope: billing}`, `{scope: a.b_c-9}`, `{scope: null}`,
	`{key: $message.payload#/id}`, `{key: [$message.payload#/id]}`, `{key: [$message.header#/idempotency-key, $message.payload#/a/b~1c~0d]}`,
	`{key: null}`, `{key: $message.payload#//}`,
	`{keyVersion: 1}`, `{keyVersion: 2147483647}`,
	`{ttl: 168h}`, `{ttl: 7d}`, `{ttl: 1d12h}`, `{ttl: 1h30m}`, `{ttl: 1.5h}`, `{ttl: +5s}`, `{ttl: 10ms}`, `{ttl: 5µs}`, `{ttl: .5s}`,
	`{onMissingKey: deadletter}`, `{onMissingKey: fail}`, `{onMissingKey: derive}`,
	`{fingerprint: payload}`, `{fingerprint: none}`, `{fingerprint: [$message.payload#/amount, $message.payload#/currency]}`,
	`{onConflict: deadletter}`, `{onConflict: discard}`,
	`{retry: {}}`, `{retry: {maxAttempts: 1}}`, `{retry: {quick: 0}}`, `{retry: {backoff: 200ms..30s}}`, `{retry: {backoff: '1s .. 1d'}}`,
	`{retry: {backoff: {base: 1s, max: 1m, factor: 1.5}}}`, `{retry: {backoff: {max: 1m}}}`, `{retry: {timeout: 30s, onBug: pause}}`,
	`{retry: {onBug: deadletter, timeout: null}}`,
	`{transaction: own}`, `{transaction: external, result: {type: object}}`, `{result: {$ref: '#/components/schemas/x'}}`, `{result: true}`,
	`{ordering: key}`, `{ordering: none}`, `{ordering: $message.payload#/id}`, `{ordering: $message.header#/id}`,
	`{deadLetter: orders.failed}`, `{deadLetter: none}`,
	`{concurrency: 1}`, `{concurrency: 64}`, `{ratePerSecond: 0.5}`, `{ratePerSecond: 100}`,
	`{dependency: stripe, breaker: {failures: 3, openFor: 300ms, probes: 2}}`, `{dependency: stripe, breaker: {}}`,
	`{emits: []}`, `{emits: [{$ref: '#/operations/send'}]}`,
	`{logFields: {}}`, `{logFields: {order_id: $message.payload#/id, sku: null}}`,
}

var badOptions = []string{
	`text`, `[]`, `{scop: billing}`, `{x-scope: billing}`, `{ttl: 1h, TTL: 1h}`, `{retention: 1h}`,
	`{scope: ''}`, `{scope: a b}`, `{scope: 7}`, `{scope: [a]}`, `{scope: 'fatura/1'}`,
	`{key: id}`, `{key: ''}`, `{key: []}`, `{key: [id]}`, `{key: {$ref: x}}`, `{key: $message.payload}`, `{key: $message.payload#}`,
	`{key: $message.payload#/}`, `{key: $message.payload#id}`, `{key: $message.body#/id}`, `{key: $message.header#/a/b}`, `{key: $message.header#/}`,
	`{key: $message.header#/idem-key}`, `{key: $message.payload#/a~2}`, `{key: [$message.payload#/a, $message.payload#/a]}`, `{key: [null]}`,
	`{key: $request.body#/id}`, `{key: 1}`,
	`{keyVersion: 0}`, `{keyVersion: -1}`, `{keyVersion: '1'}`, `{keyVersion: 1.5}`, `{keyVersion: 2147483648}`,
	`{ttl: 10}`, `{ttl: 10days}`, `{ttl: 7 d}`, `{ttl: P7D}`, `{ttl: 0s}`, `{ttl: -1h}`, `{ttl: 1w}`, `{ttl: ''}`, `{ttl: '10'}`, `{ttl: true}`, `{ttl: 1h2d}`, `{ttl: 1.5d}`,
	`{onMissingKey: dead}`, `{onMissingKey: DeadLetter}`, `{onMissingKey: true}`,
	`{fingerprint: body}`, `{fingerprint: []}`, `{fingerprint: $message.payload#/a}`, `{fingerprint: [$message.header#/a]}`, `{fingerprint: [a]}`, `{fingerprint: false}`,
	`{onConflict: fail}`, `{onConflict: 1}`,
	`{retry: 3}`, `{retry: {max: 3}}`, `{retry: {maxAttempts: 0}}`, `{retry: {maxAttempts: three}}`, `{retry: {quick: -1}}`, `{retry: {backoff: 200ms}}`,
	`{retry: {backoff: 200ms-30s}}`, `{retry: {backoff: 200..300}}`, `{retry: {backoff: 0s..1s}}`, `{retry: {backoff: 5}}`,
	`{retry: {backoff: {from: 1s}}}`, `{retry: {backoff: {factor: 0.5}}}`, `{retry: {backoff: {base: 1}}}`, `{retry: {timeout: 30}}`, `{retry: {onBug: ignore}}`,
	`{transaction: shared}`, `{transaction: none}`, `{result: text}`, `{result: [a]}`,
	`{ordering: partition}`, `{ordering: id}`, `{ordering: true}`, `{ordering: $message.payload#}`,
	`{deadLetter: a b}`, `{deadLetter: '-'}`, `{deadLetter: {channel: x}}`, `{deadLetter: false}`,
	`{concurrency: 0}`, `{concurrency: 1.5}`, `{concurrency: '8'}`, `{ratePerSecond: 0}`, `{ratePerSecond: -1}`, `{ratePerSecond: 10/s}`,
	`{dependency: a b}`, `{dependency: stripe, breaker: 3}`, `{dependency: s, breaker: {failures: 0}}`, `{dependency: s, breaker: {open: 1s}}`,
	`{dependency: s, breaker: {openFor: 1}}`, `{dependency: s, breaker: {probes: 0}}`,
	`{emits: {$ref: '#/operations/send'}}`, `{emits: ['#/operations/send']}`, `{emits: [{ref: x}]}`, `{emits: [{$ref: 1}]}`,
	`{logFields: [a]}`, `{logFields: {a: /id}}`, `{logFields: {a b: $message.payload#/id}}`, `{logFields: {a: $message.header#/id}}`,
}

// The schema and idemgen agree on each of these.
func TestXIdempotency(t *testing.T) {
	t.Parallel()
	s := compiled(t, jsonschemas.XIdempotency())
	for _, text := range goodOptions {
		if err := codeErr(text); err != nil {
			t.Errorf("idemgen refuses %s: %v", text, err)
		}
		if err := schemaErr(t, s, text); err != nil {
			t.Errorf("the schema refuses %s: %v", text, err)
		}
	}
	for _, text := range badOptions {
		if codeErr(text) == nil {
			t.Errorf("idemgen accepts %s", text)
		}
		if schemaErr(t, s, text) == nil {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

// settingsErr is what idemgen says about an idemgen.yaml.
func settingsErr(t testing.TB, text string) error {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "idemgen.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	var problems diag.List
	set := source.NewSet(root.FS(), &problems)
	s, ok := settings.Load(root, set, &problems, "idemgen.yaml")
	if ok && s.Defaults != nil {
		fsys := fstest.MapFS{"asyncapi.yaml": {Data: []byte(contract)}}
		asyncapi.Load(source.NewSet(fsys, &problems), &problems, "asyncapi.yaml", asyncapi.Options{Defaults: s.Defaults})
	}
	return asError(&problems)
}

var goodSettings = []string{
	"version: 1\ncontract: asyncapi.yaml",
	"version: 1\ngo: ./internal/ordersmsg",
	"version: 1\ngo: internal/ordersmsg\nmessages: internal/ordersmsg",
	`version: 1
contract: api/asyncapi.json
messages: internal/ordersmsg
handlers: handlers
wiring: internal/wiring
main: cmd/orders
transports: [sqlite, postgres, kafka, kafkasqlite, memory]
docs: docs
extraFields: reject
unknownEnum: accept
messageHeader: message-name
defaults:
  ttl: 7d
  retry: {maxAttempts: 3}
`,
	"version: 1\ncontract: a.yaml\ntransports: [memory]\nextraFields: ignore\nunknownEnum: reject\nmain: .",
	"version: 1\ncontract: a.yaml\ndefaults: {}",
}

var badSettings = []string{
	"contract: a.yaml", "version: 2\ncontract: a.yaml", "version: '1'\ncontract: a.yaml", "version: 1", "[]",
	"version: 1\ncontract: a.yaml\ngo: b", "version: 1\ncontrat: a.yaml", "version: 1\ncontract: a.yaml\nout: x",
	"version: 1\ncontract: /etc/a.yaml", "version: 1\ncontract: ../a.yaml", "version: 1\ncontract: ..", "version: 1\ncontract: ''", "version: 1\ncontract: 7",
	"version: 1\ncontract: 'C:\\a.yaml'", "version: 1\ncontract: 'https://example.org/a.yaml'", "version: 1\ncontract: null",
	"version: 1\ncontract: a.yaml\ntransports: []", "version: 1\ncontract: a.yaml\ntransports: sqlite", "version: 1\ncontract: a.yaml\ntransports: [nats]",
	"version: 1\ncontract: a.yaml\ntransports: [sqlite, sqlite]", "version: 1\ncontract: a.yaml\nextraFields: drop", "version: 1\ncontract: a.yaml\nunknownEnum: true",
	"version: 1\ncontract: a.yaml\nmessageHeader: 'a b'", "version: 1\ncontract: a.yaml\nmessageHeader: ''", "version: 1\ncontract: a.yaml\ndefaults: []",
	"version: 1\ncontract: a.yaml\ndefaults: null", "version: 1\ncontract: a.yaml\nhandlers: [a]",
}

func TestConfig(t *testing.T) {
	t.Parallel()
	s := compiled(t, jsonschemas.Config())
	good, bad := goodSettings, slices.Clone(badSettings)
	for _, text := range goodOptions { // whether idemgen takes them depends on the contract
		text = "version: 1\ncontract: a.yaml\ndefaults: " + text
		if err := schemaErr(t, s, text); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", text, err)
		}
	}
	for _, text := range badOptions {
		bad = append(bad, "version: 1\ncontract: a.yaml\ndefaults: "+text)
	}
	for _, text := range good {
		if err := settingsErr(t, text); err != nil {
			t.Errorf("idemgen refuses\n%s\n%v", text, err)
		}
		if err := schemaErr(t, s, text); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", text, err)
		}
	}
	for _, text := range bad {
		if settingsErr(t, text) == nil {
			t.Errorf("idemgen accepts\n%s", text)
		}
		if schemaErr(t, s, text) == nil {
			t.Errorf("the schema accepts\n%s", text)
		}
	}
}

// Each setting and option is in the schema, with a text for the editor to show.
func TestDescriptions(t *testing.T) {
	t.Parallel()
	s := compiled(t, jsonschemas.Config())
	var names []string
	for name, p := range s.Properties {
		names = append(names, name)
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
	slices.Sort(names)
	want := settings.Names()
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the schema has %v, idemgen knows %v", names, want)
	}
	for name, p := range compiled(t, jsonschemas.XIdempotency()).Properties {
		if p.Description == "" {
			t.Errorf("%s has no description", name)
		}
	}
}

// The caller may do with the bytes as it likes, and they are the same each time.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for _, schema := range []func() []byte{jsonschemas.XIdempotency, jsonschemas.Config} {
		want := bytes.Clone(schema())
		clear(schema())
		if !bytes.Equal(want, schema()) {
			t.Error("the schema changed")
		}
	}
}
