package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/idem-go/idem/conformance/report"
)

func TestCertificate(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write := func(harness string, results ...report.Result) {
		t.Helper()
		if err := report.Write(in, harness, report.Report{Conformance: []report.Conformance{{Harness: harness, Results: results}}}); err != nil {
			t.Fatal(err)
		}
	}
	call := func(args ...string) (code int, stdout, stderr string) {
		var o, e strings.Builder
		code = run(args, &o, &e)
		return code, o.String(), e.String()
	}
	write("memory", report.Result{ID: "DUP-01", Intent: "copies", Outcome: report.Passed})
	if code, stdout, stderr := call("-in", in, "-out", out); code != 0 || !strings.Contains(stdout, "CERTIFICATE.md") || stderr != "" {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
	for name, want := range map[string]string{"CERTIFICATE.md": "| DUP-01 | copies | ✓ |", "certificate.html": "<!doctype html>", "certificate.json": `"DUP-01"`} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: no %q (error %v)", name, want, err)
		}
	}

	write("sqlite", report.Result{ID: "DUP-01", Intent: "copies", Outcome: report.Failed, Reason: "two effects"})
	if code, _, stderr := call("-in", in, "-out", out); code != 1 || stderr != "sqlite: DUP-01 failed: two effects\n" {
		t.Errorf("a case failed: got %d, %q", code, stderr)
	}
	if text, err := os.ReadFile(filepath.Join(out, "CERTIFICATE.md")); err != nil || !strings.Contains(string(text), "this is no certificate") {
		t.Errorf("the failure is not in the certificate (error %v):\n%s", err, text)
	}
	for want, args := range map[int][]string{1: {"-in", t.TempDir()}, 2: {"-in"}} {
		if code, _, stderr := call(args...); code != want || stderr == "" {
			t.Errorf("%q: got %d, %q, want %d and a reason", args, code, stderr, want)
		}
	}
	if code, _, _ := call(); code != 2 {
		t.Errorf("without a folder: got %d", code)
	}
}
