package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/examples/pedidos/demo"
	"github.com/idem-go/idem/framework/idem"
)

// A service that doubles or drops effects is found out.
func TestBrokenService(t *testing.T) {
	for _, tc := range []struct {
		name          string
		loja          func(demo.Loja) demo.Loja
		lost, doubled int
		problem       string
	}{
		{"invoices twice", func(l demo.Loja) demo.Loja { return twice{l} }, 0, 20, ""},
		{"only pretends to invoice", func(l demo.Loja) demo.Loja { return never{l} }, 20, 0, "(20 effects missing)"},
		{"invoices another amount", func(l demo.Loja) demo.Loja { return cheap{l} }, 20, 20, "(20 effects missing)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := inMemory(t)
			o.Build = memoryBuild(tc.loja)
			r, err := demo.Main(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.OK || r.Lost != tc.lost || r.Doubled != tc.doubled || !strings.Contains(r.Error, tc.problem) {
				t.Errorf("want lost %d, doubled %d, error %q, got %+v", tc.lost, tc.doubled, tc.problem, r)
			}
		})
	}
}

// inMemory are the options of a run that fails after some seconds if it does
// not come to its end.
func inMemory(t *testing.T) demo.Options {
	skipUnlessLinked(t, "memory")
	cfg := forDemo(idem.Config{Transport: "memory"}.WithDefaults(), t.TempDir())
	return demo.Options{
		Config: cfg, Build: build(), Events: 20, Seed: 1, Timeout: 8 * time.Second,
		Progress: io.Discard, Logger: slog.New(slog.DiscardHandler),
	}
}

type (
	twice struct{ demo.Loja }
	never struct{ demo.Loja }
	cheap struct{ demo.Loja }
)

func (l twice) Faturar(ctx context.Context, id string, centavos int64) error {
	if err := l.Loja.Faturar(ctx, id, centavos); err != nil {
		return err
	}
	return l.Loja.Faturar(ctx, id, centavos)
}

func (l never) Faturar(context.Context, string, int64) error { return nil }

func (l cheap) Faturar(ctx context.Context, id string, centavos int64) error {
	return l.Loja.Faturar(ctx, id, centavos-1)
}
