package proof

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/idem"
	"github.com/idem-go/idem/framework/idemsql"
	"github.com/idem-go/idem/framework/idemtest"
	"github.com/idem-go/idem/framework/idemtest/internal/toy"
	"github.com/idem-go/idem/internal/mutate"
	"github.com/idem-go/idem/internal/testenv"
	"github.com/idem-go/idem/wiring"
	"github.com/idem-go/idem/wiring/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onPostgres is a world on PostgreSQL.
func onPostgres(t *testing.T) *idemtest.World {
	t.Helper()
	dsn := testenv.Postgres(t)
	w := idemtest.Open(t, func(ctx context.Context) (wiring.Parts, idemsql.DB, func(), error) {
		cfg := idem.Config{Transport: "postgres"}
		cfg.Postgres.DSN = idem.DSN(dsn)
		p, closeAll, err := postgres.Build(ctx, cfg, wiring.Options{})
		if err != nil {
			return wiring.Parts{}, nil, nil, err
		}
		return p.Parts, p.SQL, closeAll, nil
	})
	toy.CreateTables(t, w)
	return w
}

func asking(c toy.Charge) idem.External[toy.Order, int] { return toy.AskingCharge{Charge: c} }

func TestOwn(t *testing.T) {
	idemtest.Gold(t, toy.NewWorld, toy.Billing(), toy.BillFixture, toy.BillHandler)
}

func TestExternal(t *testing.T) {
	idemtest.GoldExternal(t, toy.NewWorld, toy.Billing(), toy.ChargeFixture, asking)
}

func TestOwnOnPostgres(t *testing.T) {
	idemtest.Gold(t, onPostgres, toy.Billing(), toy.BillFixture, toy.BillHandler)
}

func TestExternalOnPostgres(t *testing.T) {
	idemtest.GoldExternal(t, onPostgres, toy.Billing(), toy.ChargeFixture, asking)
}

// Every guard that is taken out of the engine is missed by the subtests that
// are about it.
func TestBrokenEnginesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library")
	}
	binary := filepath.Join(t.TempDir(), "mutated.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay="+mutate.Engine(t), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(t *testing.T, test, env string) (failed []string, out []byte) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+test+"$", "-test.v", "-test.timeout=2m")
		cmd.Env = append(os.Environ(), env)
		out, _ = cmd.CombinedOutput()
		for _, m := range regexp.MustCompile(`(?m)^    --- FAIL: `+test+`/(\S+)`).FindAllStringSubmatch(string(out), -1) {
			failed = append(failed, m[1])
		}
		return failed, out
	}
	for _, test := range []string{"TestOwn", "TestExternal"} { // or whatever fails may fail by itself
		if failed, out := run(t, test, mutate.Env(mutate.Mutation{})); len(failed) > 0 || !strings.Contains(string(out), "\nPASS") {
			t.Fatalf("%s fails without a mutation:\n%s", test, out)
		}
	}
	for _, m := range mutate.Mutations() {
		for test, want := range map[string][]string{"TestOwn": m.Own, "TestExternal": m.External} {
			if len(want) == 0 {
				continue
			}
			t.Run(m.Name+"/"+test, func(t *testing.T) {
				t.Parallel()
				failed, out := run(t, test, mutate.Env(m))
				for _, name := range want {
					if !slices.Contains(failed, name) {
						t.Errorf("%s: subtest %s did not notice", m.What, name)
					}
				}
				if t.Failed() {
					t.Logf("failed: %v\n%s", failed, out)
				} else {
					t.Logf("%s: noticed by %v", m.What, failed)
				}
			})
		}
	}
}
