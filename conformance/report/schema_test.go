package report_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/idem-go/idem/conformance/report"
)

// sample has every member of every type.
func sample() report.Report {
	run := report.Run{
		Started: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Seconds: 12.5,
		Environment: report.Environment{
			Idem: "v1.2.3", Go: "go1.26.0", Platform: "linux/amd64", CPUs: 2,
			Servers: []report.Server{{Name: "PostgreSQL", Version: "17.6", Note: "fsync on"}},
		},
	}
	return report.Report{
		Format: report.Format,
		Conformance: []report.Conformance{{
			Harness: "kafka", Run: run, Capabilities: map[string]string{"OrderedByKey": "true"},
			Results: []report.Result{
				{ID: "DUP-01", Intent: "one effect of many copies", Outcome: report.Passed, Seconds: 1, Notes: []string{"published a", "saw one effect"}},
				{ID: "DUP-02", Intent: "another", Outcome: report.Failed, Reason: "event a took effect 2 times", Seconds: 2},
				{ID: "DUP-03", Intent: "a third", Outcome: report.Skipped, Reason: "capability DurableDelay"},
			},
		}},
		Crash: []report.Crash{{
			Harness: "kafka", Run: run,
			Results: []report.CrashResult{{
				Plan: "kill at step", Step: "committing", Kills: 200, Effects: report.Counts{Expected: 400},
				Emitted: &report.Counts{Expected: 400, Lost: 1}, Calls: &report.Counts{Expected: 10, Doubled: 2},
				Seconds: 60, Reason: "the broker did not come back", Notes: []string{"seed 7"},
			}},
		}},
		Baseline: []report.Baseline{
			{
				Pipeline: "watermill: retry", Run: run,
				Results: []report.BaselineResult{{ID: "BASE-01", Scenario: "a handler fails once", Effects: report.Counts{Expected: 3, Lost: 2, Doubled: 1}, Parked: 1, Seconds: 1, Notes: []string{"x"}}},
			},
			{
				Pipeline: "idem on memory", Idem: true, Run: run,
				Results: []report.BaselineResult{{ID: "BASE-01", Scenario: "a handler fails once", Effects: report.Counts{Expected: 3}}},
			},
		},
	}
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(report.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("report.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("report.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestOutputKeepsTheSchema(t *testing.T) {
	schema := compiled(t)
	for name, r := range map[string]report.Report{
		"everything": sample(),
		"empty":      {},
		"no results": {Conformance: []report.Conformance{{Harness: "x", Run: sample().Crash[0].Run}}},
	} {
		text, err := r.JSON()
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		back, err := report.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(report.Merge(r), back); diff != "" {
			t.Errorf("%s: what was written is not what is read (-want +got):\n%s", name, diff)
		}
	}
}

// What the schema is for: a document that is none of ours is refused.
func TestSchemaRefuses(t *testing.T) {
	schema := compiled(t)
	for name, change := range map[string]func(*report.Report){
		"another format":           func(r *report.Report) { r.Format = 2 },
		"a case without intent":    func(r *report.Report) { r.Conformance[0].Results[0].Intent = "" },
		"an outcome of its own":    func(r *report.Report) { r.Conformance[0].Results[0].Outcome = "flaky" },
		"a skip without reason":    func(r *report.Report) { r.Conformance[0].Results[2].Reason = "" },
		"a reason for a pass":      func(r *report.Report) { r.Conformance[0].Results[0].Reason = "x" },
		"an id that is none":       func(r *report.Report) { r.Conformance[0].Results[0].ID = "dup one" },
		"fewer than none lost":     func(r *report.Report) { r.Crash[0].Results[0].Effects.Lost = -1 },
		"a harness without a name": func(r *report.Report) { r.Crash[0].Harness = "" },
	} {
		r := sample()
		change(&r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("%s: the schema takes it", name)
		}
	}
}

// The schema names the members of the types, no more and no fewer, and requires
// those that are always written.
func TestSchemaHasTheMembersOfTheTypes(t *testing.T) {
	type object struct {
		Required   []string
		Properties map[string]any
	}
	var doc struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(report.Schema()), &doc); err != nil {
		t.Fatal(err)
	}
	doc.Defs["Report"] = doc.object
	seen := map[string]bool{"Notes": true}
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(typ.Elem())
			return
		case reflect.Struct:
		default:
			return
		}
		if typ == reflect.TypeFor[time.Time]() || seen[typ.Name()] {
			return
		}
		seen[typ.Name()] = true
		var members, required []string
		for f := range typ.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, name)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
			look(f.Type)
		}
		def := doc.Defs[typ.Name()]
		var published []string
		for name := range def.Properties {
			published = append(published, name)
		}
		slices.Sort(members)
		slices.Sort(published)
		slices.Sort(required)
		slices.Sort(def.Required)
		if diff := cmp.Diff(members, published); diff != "" {
			t.Errorf("%s: members (-type +schema):\n%s", typ.Name(), diff)
		}
		if diff := cmp.Diff(required, def.Required); diff != "" {
			t.Errorf("%s: required (-type +schema):\n%s", typ.Name(), diff)
		}
	}
	look(reflect.TypeFor[report.Report]())
	for name := range doc.Defs {
		if !seen[name] {
			t.Errorf("the schema has %s, which is no type", name)
		}
	}
}
