package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/conformance/report"
)

func result(id string, o report.Outcome) report.Result {
	r := report.Result{ID: id, Intent: "something", Outcome: o}
	if o != report.Passed {
		r.Reason = "because"
	}
	return r
}

func TestMergeKeepsTheWorstOfACase(t *testing.T) {
	run := func(results ...report.Result) report.Report {
		return report.Report{Conformance: []report.Conformance{{Harness: "memory", Results: results}}}
	}
	passed, failed, skipped := result("A-01", report.Passed), result("A-01", report.Failed), result("A-01", report.Skipped)
	for _, tc := range []struct {
		a, b, want report.Result
	}{
		{passed, failed, failed}, {failed, passed, failed},
		{skipped, passed, passed}, {passed, skipped, passed},
		{skipped, failed, failed}, {failed, skipped, failed},
	} {
		got := report.Merge(run(tc.a), run(tc.b)).Conformance[0].Results
		if diff := cmp.Diff([]report.Result{tc.want}, got); diff != "" {
			t.Errorf("%s and then %s (-want +got):\n%s", tc.a.Outcome, tc.b.Outcome, diff)
		}
	}
}

func TestMergeAddsUpAndLeavesItsInputAlone(t *testing.T) {
	early, late := sample(), sample()
	early.Crash[0].Run.Environment.Idem = "v1.2.2"
	late.Crash[0].Run.Started = early.Crash[0].Run.Started.Add(time.Hour)
	late.Crash[0].Results[0].Calls = nil
	before, err := early.JSON()
	if err != nil {
		t.Fatal(err)
	}
	forth, back := report.Merge(early, late), report.Merge(late, early)
	for _, got := range []report.Report{forth, back} {
		c := got.Crash[0]
		if c.Run.Environment.Idem != "v1.2.3" || c.Run.Seconds != 25 || !c.Run.Started.Equal(late.Crash[0].Run.Started) {
			t.Errorf("got the run %+v, want that of the later one, with the time of both", c.Run)
		}
		if r := c.Results[0]; r.Kills != 400 || r.Effects.Expected != 800 || r.Emitted.Lost != 2 || r.Calls.Doubled != 2 {
			t.Errorf("got %+v, want the sums", r)
		}
		if b := got.Baseline[0].Results[0]; b.Effects != (report.Counts{Expected: 6, Lost: 4, Doubled: 2}) || b.Parked != 2 {
			t.Errorf("got %+v, want the sums", b)
		}
	}
	if after, err := early.JSON(); err != nil || string(before) != string(after) {
		t.Errorf("merging changed what it was given (error %v)", err)
	}
}

func TestMergeSorts(t *testing.T) {
	r := report.Merge(report.Report{
		Conformance: []report.Conformance{
			{Harness: "sqlite", Results: []report.Result{result("B-02", report.Passed), result("A-10", report.Passed), result("B-01", report.Passed)}},
			{Harness: "kafka"},
		},
		Baseline: []report.Baseline{{Pipeline: "idem", Idem: true}, {Pipeline: "watermill"}},
	})
	if r.Conformance[0].Harness != "kafka" || r.Baseline[0].Pipeline != "watermill" {
		t.Errorf("got %s first and %s first", r.Conformance[0].Harness, r.Baseline[0].Pipeline)
	}
	var ids []string
	for _, res := range r.Conformance[1].Results {
		ids = append(ids, res.ID)
	}
	if diff := cmp.Diff([]string{"A-10", "B-01", "B-02"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestWriteAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	one, two := sample(), sample()
	one.Crash, two.Conformance, two.Baseline = nil, nil, nil
	if err := report.Write(dir, "kafka/real broker", one); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is replaced
		if err := report.Write(dir, "crash", two); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("not a report"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report.Merge(sample()), got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v (error %v), want two reports and what was there", entries, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":           {"", "no *.json"},
		"no JSON":           {"{", "not a report"},
		"another JSON":      {`{"name":"x"}`, "format 0"},
		"a later format":    {`{"format":2}`, "format 2"},
		"an unknown member": {`{"format":1,"conformance":[{"harness":"x","verdict":"fine"}]}`, "verdict"},
	} {
		dir := t.TempDir()
		if name != "nothing" {
			if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := report.Read(dir); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, tc.want)
		}
	}
	if _, err := report.Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there was read")
	}
}

func TestProblems(t *testing.T) {
	got := sample().Problems()
	want := []string{
		"kafka: DUP-02 failed: event a took effect 2 times",
		"kafka: kill at step committing: of 400 emitted events 1 were lost and 0 doubled",
		"kafka: kill at step committing: of 10 external calls 0 were lost and 2 doubled",
		"kafka: kill at step committing: did not run to its end: the broker did not come back",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	bad := report.Report{Baseline: []report.Baseline{
		{Pipeline: "idem", Idem: true, Results: []report.BaselineResult{{ID: "BASE-01", Parked: 1}, {ID: "BASE-02", Effects: report.Counts{Expected: 1, Lost: 1}}}},
	}}
	if got := bad.Problems(); len(got) != 2 {
		t.Errorf("got %q, want a problem for what was parked and one for what was lost", got)
	}
}

func TestHere(t *testing.T) {
	t.Setenv(report.EnvRevision, "abc")
	e := report.Here(report.Server{Name: "Kafka"})
	if e.Idem != "abc" || e.Go == "" || e.CPUs == 0 || !strings.Contains(e.Platform, "/") || len(e.Servers) != 1 {
		t.Errorf("got %+v", e)
	}
}
