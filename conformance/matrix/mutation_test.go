package matrix

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idem-go/idem/internal/mutate"
)

// envPatience shortens what a case waits for, for runs that are expected to fail.
const envPatience = "IDEM_TEST_PATIENCE"

// A kit that passes with a broken engine proves nothing: each guard that is taken
// out is missed by the cases that are about it.
func TestBrokenEnginesAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the library")
	}
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "mutated.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay="+mutate.Engine(t), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var all []string // the cases pass without a mutation, or whatever fails may fail by itself
	n := 0
	for _, m := range slices.Concat(mutate.Mutations(), mutate.KitMutations()) {
		if len(m.Cases) == 0 {
			continue
		}
		n++
		if m.Pair == "" {
			all = append(all, m.Cases...)
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			pair := m.Pair
			if pair == "" {
				pair = "TestMemory"
			}
			failed, out := play(t, binary, pair, m.Cases, mutate.Env(m), envPatience+"=5s")
			for _, id := range m.Cases {
				if !slices.Contains(failed, id) {
					t.Errorf("%s: case %s did not notice", m.What, id)
				}
			}
			if t.Failed() {
				t.Logf("failed: %v\n%s", failed, out)
			} else {
				t.Logf("%s: noticed by %v", m.What, failed)
			}
		})
	}
	if n < 12 {
		t.Errorf("%d mutations, there should be 12 at least", n)
	}
	someSchedule(t, binary)
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if failed, out := play(t, binary, "TestMemory", all, mutate.Env(mutate.Mutation{Name: "none"})); len(failed) > 0 || !strings.Contains(string(out), "PASS") {
			t.Errorf("without a mutation %v fail:\n%s", failed, out)
		}
	})
}

// play runs cases on a pair in a process of its own and returns those that failed
// or did not come to an end.
func play(t *testing.T, binary, pair string, cases []string, env ...string) (failed []string, out []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^"+pair+"$/^("+strings.Join(cases, "|")+")$", "-test.v", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), env...)
	out, _ = cmd.CombinedOutput()
	text := string(out)
	_, hanging, _ := strings.Cut(text, "running tests:")
	for _, id := range cases {
		if strings.Contains(text, "--- FAIL: "+pair+"/"+id+" ") || strings.Contains(hanging, pair+"/"+id+" ") {
			failed = append(failed, id)
		}
	}
	return failed, out
}

// someSchedule: what no case was written for is found by some schedule, which is
// then short and can be played again.
func someSchedule(t *testing.T, binary string) {
	t.Helper()
	for _, name := range []string{"mark", "letter"} {
		t.Run("some schedule/"+name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestAnySchedule$/^own$", "-rapid.checks=1000", "-rapid.nofailfile", "-rapid.shrinktime=5s", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), mutate.Env(mutate.Mutation{Name: name}), envPatience+"=500ms")
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err == nil || !strings.Contains(text, "-rapid.seed=") || !strings.Contains(text, "schedule: [") {
				t.Fatalf("no schedule was found:\n%s", text)
			}
			for line := range strings.Lines(text) {
				if strings.Contains(line, "schedule: [") {
					t.Log(strings.TrimSpace(line))
					if n := strings.Count(line[strings.LastIndex(line, "["):], " "); n > 20 { // two for each move
						t.Errorf("it was not made short")
					}
					break
				}
			}
		})
	}
}
