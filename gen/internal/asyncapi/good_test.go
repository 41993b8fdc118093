package asyncapi

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// Types are the business of another package: here they count by name. Places
// have a test of their own.
var byName = cmp.Options{
	cmp.Transformer("name", func(t *model.Type) string {
		if t == nil {
			return "none"
		}
		return t.Name
	}),
	cmpopts.IgnoreTypes(diag.Pos{}),
}

func named(name string) *model.Type { return &model.Type{Name: name} }

func good(t *testing.T, files map[string]string, opt Options, defaults string) *model.Contract {
	t.Helper()
	c, problems := parse(t, files, opt, defaults)
	if c == nil {
		t.Fatalf("%v", problems)
	}
	return c
}

func edited(t *testing.T, edits ...string) map[string]string {
	t.Helper()
	text := base
	for edit := range slices.Chunk(edits, 2) {
		if !strings.Contains(text, edit[0]) {
			t.Fatalf("%q is not in the base", edit[0])
		}
		text = strings.Replace(text, edit[0], edit[1], 1)
	}
	return map[string]string{"asyncapi.yaml": text}
}

func TestContract(t *testing.T) {
	c := good(t, edited(t, emit, emit+`      scope: faturamento
      keyVersion: 3
      ttl: 1d12h
      onMissingKey: derive
      fingerprint: [$message.payload#/cliente, $message.payload#/cupom]
      onConflict: discard
      retry: {maxAttempts: 7, quick: 0, backoff: 100ms..1m, timeout: 5s, onBug: deadletter}
      transaction: external
      result: {type: object}
      ordering: none
      deadLetter: mortos.v1
      concurrency: 3
      ratePerSecond: 2.5
      dependency: erp
      breaker: {failures: 3, openFor: 10s, probes: 2}
      logFields: {pedido_id: $message.payload#/pedidoId}
    summary: Emite a fatura.
    description: Uma por pedido.
`, snd, snd+"    x-idempotency: {ordering: $message.payload#/pedidoId}\n    title: Emitir\n",
		"    criado:\n", "    criado:\n      summary: Um pedido.\n      examples:\n      - {name: simples, headers: {id: '7', kind: criado}, payload: {pedidoId: p, tipo: pedido, nota: null, itens: [{sku: a}], cliente: {id: 10e1}}}\n",
		"      payload: {type: object, required: [pedidoId]", "      contentType: application/cloudevents+json; charset=utf-8\n      payload: {type: object, required: [pedidoId]"), Options{}, "")
	criado := &model.Message{
		Name: "criado", GoName: "Criado", Summary: "Um pedido.", ContentType: "application/json", Payload: named("Criado"), Headers: named("CriadoHeaders"),
		Examples: []model.Example{{Name: "simples", Headers: map[string]string{"id": "7", "kind": "criado"},
			Payload: []byte(`{"pedidoId":"p","tipo":"pedido","nota":null,"itens":[{"sku":"a"}],"cliente":{"id":10e1}}`)}},
		Source: "asyncapi.yaml#/components/messages/criado",
	}
	emitida := &model.Message{
		Name: "emitida", GoName: "Emitida", ContentType: "application/cloudevents+json; charset=utf-8", Payload: named("Emitida"),
		Source: "asyncapi.yaml#/components/messages/emitida",
	}
	emitir := &model.Send{
		ID: "emitir", GoName: "Emitir", Summary: "Emitir", Topic: "faturas.v1", Messages: []*model.Message{emitida},
		OrderingKey: &model.KeyPart{Pointer: "/pedidoId"}, Source: "asyncapi.yaml#/operations/emitir",
	}
	zero := 0
	want := &model.Contract{
		Title: "Pedidos", Version: "1.0.0", Source: "asyncapi.yaml",
		Operations: []*model.Operation{{
			ID: "faturar", GoName: "Faturar", Summary: "Emite a fatura.", Description: "Uma por pedido.", Scope: "faturamento", ScopeWritten: true, Topic: "pedidos.v1",
			Messages: []*model.Message{criado},
			Key:      []model.KeyPart{{Pointer: "/pedidoId"}}, KeyVersion: 3, OnMissingKey: "derive",
			Fingerprint: model.Fingerprint{Pointers: []string{"/cliente", "/cupom"}}, OnConflict: "discard", Retention: 36 * time.Hour,
			Retry:       model.Retry{MaxAttempts: 7, Quick: &zero, BackoffBase: 100 * time.Millisecond, BackoffMax: time.Minute, Timeout: 5 * time.Second, OnBug: "deadletter"},
			Transaction: "external", Result: named("FaturarResult"), Unordered: true, DeadLetterTopic: "mortos.v1", Concurrency: 3, RatePerSecond: 2.5,
			Dependency: "erp", Breaker: &model.Breaker{Failures: 3, OpenFor: 10 * time.Second, Probes: 2},
			Emits: []*model.Send{emitir}, LogFields: map[string]string{"pedido_id": "/pedidoId"}, Source: "asyncapi.yaml#/operations/faturar",
		}},
		Sends: []*model.Send{emitir}, Messages: []*model.Message{criado, emitida},
	}
	if d := cmp.Diff(want, c, byName, cmpopts.IgnoreFields(model.Contract{}, "Types")); d != "" {
		t.Error(d)
	}
	at := c.Operations[0]
	if at.Pos.String() != "asyncapi.yaml:14:3" || at.KeyPos.String() != "asyncapi.yaml:19:12" {
		t.Errorf("the operation is at %v, its key at %v", at.Pos, at.KeyPos)
	}
}

// What is not said is left to the library, or is what the documentation says.
func TestSilence(t *testing.T) {
	c := good(t, edited(t, "      "+emit, ""), Options{}, "")
	want := &model.Operation{
		ID: "faturar", GoName: "Faturar", Scope: "faturar", Topic: "pedidos.v1", Key: []model.KeyPart{{Pointer: "/pedidoId"}}, KeyVersion: 1,
		OnMissingKey: "deadletter", OnConflict: "deadletter", Transaction: "own", Source: "asyncapi.yaml#/operations/faturar",
	}
	if d := cmp.Diff(want, c.Operations[0], byName, cmpopts.IgnoreFields(model.Operation{}, "Messages")); d != "" {
		t.Error(d)
	}
	if c := good(t, edited(t, emit, "emits: []\n"), Options{}, ""); c.Operations[0].Emits == nil {
		t.Error("an empty list is not the same as none")
	}
}

// The operation wins over its traits, those over the message, its traits and
// the defaults; later traits over earlier ones; field by field.
func TestPrecedence(t *testing.T) {
	levels := []string{"defaults", "message trait 1", "message trait 2", "message", "operation trait 1", "operation trait 2", "operation"}
	for top := range levels {
		// Each level says something that no other says; up to top they
		// contradict each other as well.
		x := func(level int) string {
			fields := []string{"ttl: 7d", "onConflict: discard", "fingerprint: none", "dependency: erp", "logFields: {a: $message.payload#/tipo}", "deadLetter: none", "ordering: none"}[level]
			retry := []string{"timeout: 7s", "quick: 1", "onBug: pause", "backoff: 1s..9s"}[level%4]
			if level <= top {
				fields += fmt.Sprintf(", concurrency: %d, breaker: {probes: %[1]d}", level+1)
				retry += fmt.Sprintf(", maxAttempts: %d", level+1)
			}
			return "{" + fields + ", retry: {" + retry + "}}"
		}
		files := edited(t,
			"    x-idempotency:\n      "+key+"      "+emit,
			"    traits: [{x-idempotency: "+x(4)+"}, {x-idempotency: "+x(5)+"}]\n    x-idempotency: "+strings.TrimSuffix(x(6), "}")+", key: $message.payload#/pedidoId}\n",
			"    criado:\n", "    criado:\n      x-idempotency: "+x(3)+"\n      traits: [{x-idempotency: "+x(1)+"}, {x-idempotency: "+x(2)+"}]\n")
		o := good(t, files, Options{}, x(0)).Operations[0]
		if n := top + 1; o.Concurrency != n || o.Retry.MaxAttempts != n || o.Breaker.Probes != n {
			t.Errorf("%s should win: %d, %d, %d", levels[top], o.Concurrency, o.Retry.MaxAttempts, o.Breaker.Probes)
		}
		r := o.Retry
		if o.Retention != 7*day || o.OnConflict != "discard" || !o.Fingerprint.None || o.Dependency != "erp" || o.LogFields["a"] != "/tipo" || o.DeadLetterTopic != "-" ||
			!o.Unordered || r.Timeout != 7*time.Second || *r.Quick != 1 || r.OnBug != "pause" || r.BackoffMax != 9*time.Second {
			t.Errorf("a level was lost: %+v", o)
		}
	}
}

// Null takes away what a trait says, as in a JSON Merge Patch.
func TestNull(t *testing.T) {
	c := good(t, edited(t, emit, "ttl: null\n      retry: {maxAttempts: null}\n    traits: [{x-idempotency: {ttl: 7d, retry: {maxAttempts: 3, timeout: 5s}}}]\n"), Options{}, "")
	if o := c.Operations[0]; o.Retention != 0 || o.Retry.MaxAttempts != 0 || o.Retry.Timeout != 5*time.Second {
		t.Errorf("%v %+v", o.Retention, o.Retry)
	}
}

// Traits add to what a message has, also to its headers.
func TestMessageTraits(t *testing.T) {
	c := good(t, edited(t, "    emitida:\n", "    emitida:\n      traits: [{$ref: '#/components/messageTraits/comum'}]\n      headers: {type: object, required: [b], properties: {b: {type: string}}}\n",
		"components:\n", "components:\n  messageTraits:\n    comum:\n      summary: Comum.\n      description: De todos.\n      headers: {type: object, required: [a], properties: {a: {type: string}}}\n",
		"    emitida:\n", "    emitida:\n      summary: Emitida.\n"), Options{}, "")
	m := c.Messages[1]
	if m.Summary != "Emitida." || m.Description != "De todos." {
		t.Errorf("%q, %q", m.Summary, m.Description)
	}
	var got []string
	for _, f := range m.Headers.Fields {
		got = append(got, fmt.Sprint(f.Name, " ", f.Required))
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"a false", "b true"}, got); d != "" {
		t.Error(d)
	}
}

const several = `asyncapi: 3.1.0
info: {title: t, version: v}
channels:
  eventos:
    address: eventos.v1
    messages:
      b: {name: criado, %[1]s}
      a: {name: cancelado, %[2]s}
operations:
  todos:
    action: receive
    channel: {$ref: '#/channels/eventos'}
    x-idempotency: {key: $message.payload#/id}
  alguns:
    action: receive
    channel: {$ref: '#/channels/eventos'}
    messages: [{$ref: '#/channels/eventos/messages/b'}]
    x-idempotency: {key: $message.payload#/id}
  mandar:
    action: send
    channel: {$ref: '#/channels/eventos'}
    messages: [{$ref: '#/channels/eventos/messages/a'}]
`

func TestDispatch(t *testing.T) {
	payload := func(members string) string {
		return "payload: {type: object, required: [id, tipo], properties: {id: {type: string}" + members + "}}"
	}
	header := func(required, value string) string {
		return ", headers: {type: object, required: [" + required + "], properties: {kind: {type: string, const: " + value + "}}}"
	}
	for _, tt := range []struct {
		name, a, b, option string
		want               *model.Dispatch
	}{
		{"header", payload(", tipo: {}") + header("kind", "x"), payload(", tipo: {}") + header("kind", "y"), "", &model.Dispatch{Header: "kind", Values: []string{"y", "x"}}},
		{"header before payload", payload(", tipo: {const: a}") + header("kind", "x"), payload(", tipo: {const: b}") + header("kind", "y"), "", &model.Dispatch{Header: "kind", Values: []string{"y", "x"}}},
		{"payload", payload(", tipo: {const: a}"), payload(", tipo: {const: b}"), "", &model.Dispatch{Pointer: "/tipo", Values: []string{"b", "a"}}},
		{"an enum of one", payload(", tipo: {enum: [a]}"), payload(", tipo: {const: b}"), "name", &model.Dispatch{Pointer: "/tipo", Values: []string{"b", "a"}}},
		{"optional header", payload(", tipo: {const: a}") + header("", "x"), payload(", tipo: {const: b}") + header("kind", "y"), "", &model.Dispatch{Pointer: "/tipo", Values: []string{"b", "a"}}},
		{"the same header", payload(", tipo: {const: a}") + header("kind", "x"), payload(", tipo: {const: b}") + header("kind", "x"), "", &model.Dispatch{Pointer: "/tipo", Values: []string{"b", "a"}}},
		{"name", payload(", tipo: {const: a}"), payload(", tipo: {const: a}"), "message-name", &model.Dispatch{Header: "message-name", Values: []string{"cancelado", "criado"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Sprintf(several, tt.a, tt.b)
			c := good(t, map[string]string{"asyncapi.yaml": text}, Options{MessageHeader: tt.option}, "")
			todos, alguns, mandar := c.Operations[1], c.Operations[0], c.Sends[0]
			if todos.Messages[0].Name != "cancelado" || todos.Messages[1].Name != "criado" {
				t.Errorf("messages are not in the order of their keys: %s first", todos.Messages[0].Name)
			}
			if d := cmp.Diff(tt.want, todos.Dispatch); d != "" {
				t.Error(d)
			}
			some, out := *tt.want, *tt.want
			some.Values, some.Others = tt.want.Values[1:], tt.want.Values[:1]
			out.Values, out.Others = tt.want.Values[:1], tt.want.Values[1:]
			if d := cmp.Diff(&some, alguns.Dispatch); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(&out, mandar.Dispatch); d != "" {
				t.Error(d)
			}
		})
	}
}

// Retries count runs here and retries in the proposal; its delays are the
// longest here.
func TestProposal(t *testing.T) {
	zero := 0
	for _, tt := range []struct {
		name, fields string
		retry        model.Retry
		deadLetter   string
	}{
		{"fixed", "retry: {maxAttempts: 3, strategy: {type: fixed, delay: PT1M30S}}",
			model.Retry{MaxAttempts: 4, Quick: &zero, BackoffBase: 90 * time.Second, BackoffMax: 90 * time.Second, BackoffFactor: 1}, ""},
		{"exponential", "retry: {maxAttempts: 3, strategy: {type: exponential, initialDelay: PT0.5S, multiplier: 1.5, maxDelay: PT1H}}",
			model.Retry{MaxAttempts: 4, Quick: &zero, BackoffBase: 500 * time.Millisecond, BackoffMax: time.Hour, BackoffFactor: 1.5}, ""},
		{"exponential without end", "retry: {maxAttempts: 3, strategy: {type: exponential, initialDelay: PT1S, multiplier: 3}}",
			model.Retry{MaxAttempts: 4, Quick: &zero, BackoffBase: time.Second, BackoffMax: 9 * time.Second, BackoffFactor: 3}, ""},
		{"on our topic, the same message", "retry: {channel: {$ref: '#/channels/volta'}, messages: [{$ref: '#/channels/volta/messages/criado'}], maxAttempts: 1, strategy: {type: fixed, delay: PT1S}}",
			model.Retry{MaxAttempts: 2, Quick: &zero, BackoffBase: time.Second, BackoffMax: time.Second, BackoffFactor: 1}, ""},
		{"deadLetter", "deadLetter: {channel: {$ref: '#/channels/mortos'}, messages: [{$ref: '#/channels/mortos/messages/criado'}], x-a: 1}", model.Retry{}, "mortos.v1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := good(t, edited(t, emit, emit+"    "+tt.fields+"\n", "  faturas:\n", `  volta: {address: pedidos.v1.retry.faturar, messages: {criado: {$ref: '#/components/messages/criado'}}}
  mortos: {address: mortos.v1, messages: {criado: {$ref: '#/components/messages/criado'}}}
  faturas:
`), Options{}, "")
			if d := cmp.Diff(tt.retry, c.Operations[0].Retry); d != "" {
				t.Error(d)
			}
			if got := c.Operations[0].DeadLetterTopic; got != tt.deadLetter {
				t.Errorf("dead letters go to %q", got)
			}
		})
	}
	// What else x-idempotency says stays.
	c := good(t, edited(t, emit, emit+"      retry: {timeout: 5s, quick: 1}\n    retry: {maxAttempts: 3, strategy: {type: fixed, delay: PT1S}}\n"), Options{}, "{retry: {maxAttempts: 9, quick: 7}}")
	one := 1
	want := model.Retry{MaxAttempts: 4, Quick: &one, BackoffBase: time.Second, BackoffMax: time.Second, BackoffFactor: 1, Timeout: 5 * time.Second}
	if d := cmp.Diff(want, c.Operations[0].Retry); d != "" {
		t.Error(d)
	}
}

// The key may be anything that every message has.
func TestKeys(t *testing.T) {
	for in, want := range map[string][]model.KeyPart{
		"$message.payload#/cliente/id":                         {{Pointer: "/cliente/id"}},
		"[$message.header#/id, $message.payload#/pedidoId]":    {{Header: "id"}, {Pointer: "/pedidoId"}},
		"[$message.payload#/tipo, $message.payload#/pedidoId]": {{Pointer: "/tipo"}, {Pointer: "/pedidoId"}},
	} {
		c := good(t, edited(t, key, "key: "+in+"\n"), Options{}, "")
		if d := cmp.Diff(want, c.Operations[0].Key); d != "" {
			t.Error(d)
		}
	}
}

// YAML, JSON and the order of keys make no difference.
func TestSameModel(t *testing.T) {
	set := source.NewSet(fstest.MapFS{"asyncapi.yaml": {Data: []byte(base)}}, &diag.List{})
	root := set.Load("asyncapi.yaml", diag.Pos{}).Root
	want := good(t, map[string]string{"asyncapi.yaml": base}, Options{}, "")
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		text := appendJSON(nil, shuffled(root, rnd))
		if !json.Valid(text) {
			t.Fatal("no JSON")
		}
		var problems diag.List
		set := source.NewSet(fstest.MapFS{"asyncapi.json": {Data: text}}, &problems)
		got := Load(set, &problems, "asyncapi.json", Options{})
		if got == nil {
			t.Fatal(problems.Sorted())
		}
		opts := cmp.Options{
			cmpopts.IgnoreTypes(diag.Pos{}), cmp.Transformer("source", func(s string) string { return strings.Replace(s, "asyncapi.json", "asyncapi.yaml", 1) }),
			cmpopts.SortSlices(func(a, b *model.Field) bool { return a.Name < b.Name }),
		}
		if d := cmp.Diff(want, got, opts); d != "" {
			t.Fatal(d)
		}
	}
}

func shuffled(n *source.Node, rnd *rand.Rand) *source.Node {
	out := *n
	out.Fields, out.Items = nil, nil
	for _, f := range n.Fields {
		f.Value = shuffled(f.Value, rnd)
		out.Fields = append(out.Fields, f)
	}
	rnd.Shuffle(len(out.Fields), func(i, j int) { out.Fields[i], out.Fields[j] = out.Fields[j], out.Fields[i] })
	for _, item := range n.Items {
		out.Items = append(out.Items, shuffled(item, rnd))
	}
	return &out
}

// References lead into other files, and theirs to further ones.
func TestFiles(t *testing.T) {
	c := good(t, map[string]string{
		"asyncapi.yaml": `asyncapi: 3.0.0
info: {$ref: 'shared/info.yaml'}
channels:
  a: {$ref: 'shared/channels.yaml#/a'}
operations:
  ler: {$ref: 'shared/ops.json#/ler'}
`,
		"shared/info.yaml":       "{title: t, version: v}\n",
		"shared/channels.yaml":   "a: {address: a.v1, messages: {m: {$ref: 'messages/m.yaml'}}}\n",
		"shared/ops.json":        `{"ler": {"action": "receive", "channel": {"$ref": "../asyncapi.yaml#/channels/a"}, "messages": [{"$ref": "channels.yaml#/a/messages/m"}], "traits": [{"$ref": "traits.yaml#/t"}]}}`,
		"shared/traits.yaml":     "t: {x-idempotency: {key: $message.payload#/id}}\n",
		"shared/messages/m.yaml": "payload: {$ref: '../schemas.yaml#/s'}\n",
		"shared/schemas.yaml":    "s: {type: object, required: [id], properties: {id: {type: string}}}\n",
	}, Options{}, "")
	o := c.Operations[0]
	if o.Messages[0].Name != "m" || o.Key[0].Pointer != "/id" || o.KeyPos.String() != "shared/traits.yaml:1:26" || o.Source != "shared/ops.json#/ler" {
		t.Errorf("%+v", o)
	}
}

func TestDurations(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"7d": 7 * day, "1d12h": 36 * time.Hour, "1h30m": 90 * time.Minute, "1.5h": 90 * time.Minute, "250ms": 250 * time.Millisecond, "0d1s": time.Second, "-1d": -day,
	} {
		if got, ok := parseDuration(in); !ok || got != want {
			t.Errorf("%s: %v %v", in, got, ok)
		}
	}
	for _, in := range []string{"", "d", "7", "1.5d", "7d-1h", "7d7d", "1w", "106752d", "106751d23h48m", "x"} {
		if got, ok := parseDuration(in); ok {
			t.Errorf("%s: %v", in, got)
		}
	}
	for in, want := range map[string]string{
		"10days": "use 240h", "2 weeks": "use 336h", "1w": "use 168h", "90 sec": "use 1m30s", "5 Minutes": "use 5m", "100 millis": "use 100ms", "PT1H30M": "use 1h30m", "P1DT12H": "use 36h",
		"soon": "use a number with a unit, such as 240h, 7d or 1h30m", "P1Y": "use a number with a unit, such as 240h, 7d or 1h30m", "PT": "use a number with a unit, such as 240h, 7d or 1h30m",
	} {
		if got := durationHint(&source.Node{Kind: source.String, Text: in}); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// The horizon is that of the library's own backoff.
func TestHorizon(t *testing.T) {
	r := func(n int, base, limit time.Duration, factor float64, timeout time.Duration) retry {
		return retry{model.Retry{MaxAttempts: n, BackoffBase: base, BackoffMax: limit, BackoffFactor: factor, Timeout: timeout}}
	}
	for _, tt := range []struct {
		r    retry
		want time.Duration
	}{
		{retry{}, 5*30*time.Second + 3*time.Second}, // 200 + 400 + 800 + 1600 ms
		{r(1, 0, 0, 0, time.Second), time.Second},
		{r(4, time.Second, 4*time.Second, 2, time.Second), 4*time.Second + 7*time.Second},
		{r(5, time.Second, 4*time.Second, 2, time.Second), 5*time.Second + 11*time.Second},
		{r(4, time.Second, time.Minute, 1, time.Second), 4*time.Second + 3*time.Second},
		{r(1<<30, time.Second, time.Second, 1, time.Second), 1<<31*time.Second - time.Second},
	} {
		if got := horizon(tt.r); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.r, got, tt.want)
		}
	}
}
