package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen"
)

// bigContract is a contract of so many operations, each with a channel, a
// message, a payload with nested objects, and every fourth with a send. The
// order of everything that has none in YAML is rnd's; nil leaves it as it is.
func bigContract(operations int, rnd *rand.Rand) string {
	var channels, ops, messages, schemas []string
	for i := range operations {
		n := fmt.Sprintf("pedido%03d", i)
		channels = append(channels, fmt.Sprintf("  %s:\n    address: %[1]s.v1\n    messages:\n      %[1]sCriado: {$ref: '#/components/messages/%[1]sCriado'}\n", n))
		op := fmt.Sprintf("  tratar%s:\n    action: receive\n    summary: Handles %[1]s.\n    channel: {$ref: '#/channels/%[1]s'}\n    traits: [{$ref: '#/components/operationTraits/padrao'}]\n", n)
		if i%4 == 0 {
			op += fmt.Sprintf("    x-idempotency:\n      emits: [{$ref: '#/operations/enviar%s'}]\n", n)
			ops = append(ops, fmt.Sprintf("  enviar%s:\n    action: send\n    channel: {$ref: '#/channels/%[1]s'}\n", n))
		}
		ops = append(ops, op)
		messages = append(messages, fmt.Sprintf("    %sCriado:\n      contentType: application/json\n      payload: {$ref: '#/components/schemas/%[1]s'}\n", n))
		schemas = append(schemas, fmt.Sprintf(`    %s:
      type: object
      description: What somebody ordered, number %d.
      required: [pedidoId, cliente, itens, estado]
      properties:
        pedidoId: {type: string, minLength: 1, maxLength: 40}
        estado: {type: string, enum: [aberto, pago, cancelado]}
        centavos: {type: integer, minimum: 0}
        criadoEm: {type: string, format: date-time}
        observacao: {type: [string, 'null'], maxLength: 500}
        cliente: {$ref: '#/components/schemas/%[1]sCliente'}
        itens:
          type: array
          maxItems: 100
          items:
            type: object
            required: [sku, quantidade]
            properties:
              sku: {type: string, pattern: '^[a-z0-9-]+$'}
              quantidade: {type: integer, minimum: 1}
`, n, i))
		schemas = append(schemas, fmt.Sprintf("    %sCliente:\n      type: object\n      required: [nome]\n      properties:\n        nome: {type: string}\n        email: {type: string, format: email}\n", n))
	}
	for _, part := range [][]string{channels, ops, messages, schemas} {
		if rnd != nil {
			rnd.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
	}
	return "asyncapi: 3.0.0\ninfo: {title: Grande, version: 1.0.0}\nchannels:\n" + strings.Join(channels, "") +
		"operations:\n" + strings.Join(ops, "") +
		"components:\n  operationTraits:\n    padrao:\n      x-idempotency:\n        key: $message.payload#/pedidoId\n        ttl: 10d\n" +
		"  messages:\n" + strings.Join(messages, "") + "  schemas:\n" + strings.Join(schemas, "")
}

// newProject makes a folder with the base project and the contract.
func newProject(tb testing.TB, contract string) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := copyMissing("testdata/base", dir); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "asyncapi.yaml"), []byte(contract), 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func options(dir string) gen.Options { return gen.Options{Config: filepath.Join(dir, "idemgen.yaml")} }

func mustGenerate(tb testing.TB, dir string) *gen.Report {
	tb.Helper()
	report, err := gen.Generate(options(dir))
	if err != nil {
		tb.Fatal(err)
	}
	if !report.OK() {
		var b bytes.Buffer
		_ = report.Write(&b, "text")
		tb.Fatal(b.String())
	}
	return report
}

// tree returns the files below dir.
func tree(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func TestTwoHundredOperations(t *testing.T) {
	dir := newProject(t, bigContract(200, nil))
	if got := len(mustGenerate(t, dir).Changes); got < 600 {
		t.Errorf("%d files", got)
	}
	report, err := gen.Check(options(dir))
	if err != nil || !report.OK() {
		t.Fatalf("check: %v, %.2000s", err, report.Diff)
	}
}

// The order in which a contract lists its operations, channels, messages and
// schemas means nothing, and neither does that of Go's maps.
func TestOrderMeansNothing(t *testing.T) {
	var want map[string]string
	for seed := range uint64(8) {
		dir := newProject(t, bigContract(12, rand.New(rand.NewPCG(seed, 7))))
		mustGenerate(t, dir)
		got := tree(t, dir)
		delete(got, "asyncapi.yaml")
		if want == nil {
			want = got
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("with order %d: %s", seed, d)
		}
	}
}

func BenchmarkGenerate200(b *testing.B) {
	contract := bigContract(200, nil)
	for b.Loop() {
		b.StopTimer()
		dir := newProject(b, contract)
		b.StartTimer()
		mustGenerate(b, dir)
	}
}

func BenchmarkCheck200(b *testing.B) {
	dir := newProject(b, bigContract(200, nil))
	mustGenerate(b, dir)
	for b.Loop() {
		if report, err := gen.Check(options(dir)); err != nil || !report.OK() {
			b.Fatal(err, "the files are not up to date")
		}
	}
}
