package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/gen/internal/diag"
)

// What would be written for the user today.
const handlerToday = `package handlers

import (
	"context"

	"github.com/idem-go/idem/framework/idem"

	"example.com/m/internal/msg"
)

// Faturar handles pedidoCriado.
type Faturar struct{}

func NewFaturar() *Faturar { return &Faturar{} }

var _ msg.Faturar = (*Faturar)(nil)

func (h *Faturar) Handle(ctx context.Context, m idem.Message[msg.PedidoCriado]) error {
	return idem.ErrNotImplemented
}
`

const fixtureToday = `package handlers

import (
	"testing"

	"github.com/idem-go/idem/framework/idemtest"

	"example.com/m/internal/msg"
)

func faturarFixture(t *testing.T, w *idemtest.World) idemtest.Fixture[msg.Faturar] {
	return idemtest.Fixture[msg.Faturar]{}
}
`

func TestDrift(t *testing.T) {
	today := []File{
		users("handlers/faturar.go", handlerToday, "faturar"),
		users("handlers/faturar_fixture_test.go", fixtureToday, "faturar"),
		users("handlers/handlers.go", "package handlers\n\nimport \"github.com/google/wire\"\n\nvar Set = wire.NewSet(NewFaturar)\n", ""),
		users("main.go", "package main\n\ntype App struct{}\n", ""),
	}
	replace := func(old, now string) map[string]string {
		if !strings.Contains(handlerToday, old) {
			t.Fatalf("no %q in the handler", old)
		}
		return map[string]string{"handlers/faturar.go": strings.ReplaceAll(handlerToday, old, now)}
	}
	const signature = "(ctx context.Context, m idem.Message[msg.PedidoCriado]) error"
	for _, tc := range []struct {
		name string
		have map[string]string
		want []string
	}{
		{"nothing is there", map[string]string{}, nil},
		{"as it was written", replace("return idem.ErrNotImplemented", "return nil"), nil},
		{"other names of parameters", replace("ctx context.Context, m idem", "_ context.Context, _ idem"), nil},
		{"parameters without names", replace("ctx context.Context, m idem.", "context.Context, idem."), nil},
		{"a value receiver", replace("(h *Faturar) Handle", "(Faturar) Handle"), nil},
		{"imports under other names", map[string]string{"handlers/faturar.go": strings.NewReplacer(
			`"example.com/m/internal/msg"`, `pb "example.com/m/internal/msg"`, "msg.P", "pb.P", "msg.F", "pb.F").Replace(handlerToday)}, nil},
		{"another constructor", replace("func NewFaturar() *Faturar", "func New(db any) *Faturar"), nil},
		{"an alias in the signature", replace("idem.Message[msg.PedidoCriado]) error {", "Pedido) error {\n\ttype _ int"), []string{
			"handlers/faturar.go:18:19: IDEM127: Faturar.Handle does not fit the contract: expected func" + signature + ", found func(ctx context.Context, m Pedido) error (change it to what is expected)"}},
		{"an alias that is declared", map[string]string{
			"handlers/faturar.go": strings.ReplaceAll(handlerToday, "m idem.Message[msg.PedidoCriado]", "m Pedido"),
			"handlers/alias.go":   "package handlers\n\nimport (\n\t\"example.com/m/internal/msg\"\n\t. \"github.com/idem-go/idem/framework/idem\"\n\ti \"github.com/idem-go/idem/framework/idem\"\n)\n\ntype Pedido = i.Message[msg.PedidoCriado]\n"}, nil},
		{"a promoted method", map[string]string{"handlers/faturar.go": "package handlers\n\ntype Faturar struct{ Base }\n"}, nil},
		{"another message", replace("PedidoCriado]", "PedidoPago]"), []string{
			"handlers/faturar.go:18:19: IDEM127: Faturar.Handle does not fit the contract: expected func" + signature + ", found func(ctx context.Context, m idem.Message[msg.PedidoPago]) error (change it to what is expected)"}},
		{"a message of another package of that name", replace(`"example.com/m/internal/msg"`, `"example.com/other/msg"`), []string{"handlers/faturar.go:18:19: IDEM127: Faturar.Handle does not fit"}},
		{"a result too many", replace(") error {", ") (int, error) {"), []string{"handlers/faturar.go:18:19: IDEM127"}},
		{"no context", replace("ctx context.Context, ", ""), []string{"handlers/faturar.go:18:19: IDEM127"}},
		{"the method is called something else", replace(") Handle(", ") HandlePedido("), []string{
			"handlers/faturar.go:12:6: IDEM126: Faturar does not have the method that the contract asks for: expected func Handle" + signature + " (add the method)"}},
		{"the type is called something else", replace("Faturar", "Invoice"), []string{
			"handlers/faturar.go:1:9: IDEM126: the package does not declare type Faturar (add it; generated code uses it)"}},
		{"moved to another file", map[string]string{"handlers/all.go": strings.ReplaceAll(handlerToday, "PedidoCriado]", "X]")}, []string{"handlers/all.go:18:19: IDEM127"}},
		{"the set has gone", map[string]string{"handlers/handlers.go": "package handlers\n\nvar Providers = 1\n"}, []string{
			"handlers/handlers.go:1:9: IDEM126: the package does not declare var Set (add it; generated code uses it)"}},
		{"the fixture is for something else", map[string]string{"handlers/faturar_fixture_test.go": strings.ReplaceAll(fixtureToday, "msg.Faturar]", "*Faturar]")}, []string{
			"handlers/faturar_fixture_test.go:11:6: IDEM127: faturarFixture does not fit the contract: expected func(t *testing.T, w *idemtest.World) idemtest.Fixture[msg.Faturar], found func(t *testing.T, w *idemtest.World) idemtest.Fixture[*Faturar]"}},
		{"a fixture that is a variable", map[string]string{"handlers/faturar_fixture_test.go": "package handlers\n\nvar faturarFixture = 1\n"}, []string{
			"handlers/faturar_fixture_test.go:3:5: IDEM127: faturarFixture must be a function"}},
		{"not Go", map[string]string{"handlers/faturar.go": "package handlers\n\nfunc (\n", "handlers/handlers.go": "package handlers\n"}, []string{
			"handlers/faturar.go:3:8: IDEM128: "}},
		{"the main package is the user's affair", map[string]string{"main.go": "package main\n\ntype Other struct{}\n"}, nil},
		{"a file with our header does not count", map[string]string{"handlers/faturar.go": handlerToday, "handlers/gen.go": goHeader + "package handlers\n\nfunc (h *Faturar) Handle() {}\n"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := open(t)
			for name, text := range tc.have {
				put(t, root, name, text)
			}
			before := disk(t, root)
			problems := &diag.List{}
			Drift(root, today, "handlers", problems)
			wantProblems(t, tc.want, strs(problems))
			if d := cmp.Diff(before, disk(t, root)); d != "" {
				t.Error("it wrote:", d)
			}
		})
	}
}
