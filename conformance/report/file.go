package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Env names the environment variable with the folder that runs write their
// reports to. Without it they write none.
const Env = "IDEM_CONFORMANCE_REPORT"

// Write writes a report to dir, which it makes if necessary, as name.json. The
// file appears as a whole or not at all; one that is there is replaced.
func Write(dir, name string, r Report) error {
	text, err := r.JSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := replace(filepath.Join(dir, fileName(name)+".json"), text); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Save writes the report for people and programs to dir, which it makes if
// necessary: CERTIFICATE.md, certificate.html and certificate.json.
func (r Report) Save(dir string) error {
	html, err := r.HTML()
	if err != nil {
		return err
	}
	if err := Write(dir, "certificate", r); err != nil {
		return err
	}
	err = errors.Join(replace(filepath.Join(dir, "certificate.html"), html), replace(filepath.Join(dir, "CERTIFICATE.md"), r.Markdown()))
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// fileName keeps what is safe in the name of a file everywhere.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
}

func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// JSON is the report as a file has it, in the order that [Merge] makes.
func (r Report) JSON() ([]byte, error) {
	r = Merge(r)
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(text, '\n'), nil
}

// Parse reads a report. It refuses what this version might misread: another
// format, and members that it does not know.
func Parse(text []byte) (Report, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return Report{}, fmt.Errorf("report: not a report: %w", err)
	}
	if head.Format != Format {
		return Report{}, fmt.Errorf("report: format %d, this version reads %d: use the version of idem that wrote it", head.Format, Format)
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	var r Report
	if err := dec.Decode(&r); err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	return r, nil
}

// Read merges the reports of a folder: every *.json in it.
func Read(dir string) (Report, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return Report{}, fmt.Errorf("report: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) != ".json" })
	if len(entries) == 0 {
		return Report{}, fmt.Errorf("report: no *.json in %s: run the tests with %s=%[1]s", dir, Env)
	}
	var all []Report
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return Report{}, fmt.Errorf("report: %w", err)
		}
		r, err := Parse(text)
		if err != nil {
			return Report{}, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		all = append(all, r)
	}
	return Merge(all...), nil
}
