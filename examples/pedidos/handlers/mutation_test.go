package handlers

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/idem-go/idem/internal/mutate"
)

// The gold test of Faturar fails when somebody takes a guard away, in the
// engine, the handler or the contract, and names the case that shows it.
func TestGoldNoticesAMissingGuard(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the handlers four times")
	}
	const (
		handler  = "examples/pedidos/handlers/faturar.go"
		contract = "examples/pedidos/pedidosmsg/operations_gen.go"
		check    = "if err := conferir(ctx, h.loja, p.PedidoID); err != nil {\n\t\treturn err\n\t}"
		write    = "if err := h.loja.Faturar(ctx, p.PedidoID, p.Centavos); err != nil {\n\t\treturn err\n\t}"
		key      = "Name:      \"faturar\",\n\t\tTopic:     \"pedidos\",\n\t\tKey:       idem.KeyFrom(idem.FromPayload(\"/pedidoId\")),"
	)
	edit := func(edits ...mutate.Edit) func(*testing.T) string {
		return func(t *testing.T) string { return mutate.Overlay(t, edits...) }
	}
	for _, tc := range []struct {
		name    string
		overlay func(*testing.T) string
		env     string
		fails   string
	}{
		{"the claim is dropped", func(t *testing.T) string { return mutate.Engine(t) }, mutate.Env(mutate.Mutation{Name: "claim"}), "duplicate"},
		{"errors are swallowed", edit(
			mutate.Edit{File: handler, Old: check, New: "_ = conferir(ctx, h.loja, p.PedidoID)"},
			mutate.Edit{File: handler, Old: write, New: "_ = h.loja.Faturar(ctx, p.PedidoID, p.Centavos)"},
		), "", "database"},
		{"the effect is outside the transaction", edit(
			mutate.Edit{File: handler, Old: write, New: strings.Replace(write, "(ctx", "(context.Background()", 1)},
		), "", "retry"},
		{"the key is another one each time", edit(
			mutate.Edit{File: contract, Old: key, New: strings.Replace(key, `idem.FromPayload("/pedidoId")`, `idem.FromHeader("none")`, 1) + " OnMissingKey: idem.MissingDerives,"},
		), "", "duplicate"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-overlay="+tc.overlay(t), "-run=^TestFaturarGold$", ".")
			cmd.Env = append(os.Environ(), tc.env)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestFaturarGold/"+tc.fails) {
				t.Errorf("want %s to fail: %v\n%s", tc.fails, err, out)
			}
		})
	}
}
