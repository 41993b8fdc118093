package config

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idem-go/idem/framework/idem"
)

var update = flag.Bool("update", false, "write sample.yaml anew from the comments in package idem")

// The sample is made of the comments and defaults of idem.Config, so neither can say something else.
func TestSampleIsUpToDate(t *testing.T) {
	var g sampler
	g.docs = docsOf(t, "../idem/config.go")
	g.section(reflect.ValueOf(sampleConfig()), "Config", "", "")
	want := sampleHeader + g.out.String()
	if *update {
		if err := os.WriteFile("sample.yaml", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, Sample()); diff != "" {
		t.Errorf("sample.yaml is not what idem.Config says (go test ./framework/config -run TestSample -update):\n%s", diff)
	}
}

func TestSampleAsItIsChangesNothing(t *testing.T) {
	got, err := Load(Source{Path: "sample.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(idem.Config{}.WithDefaults(), got); diff != "" {
		t.Errorf("loading the sample (-want +got):\n%s", diff)
	}
}

func TestSampleUncommentedSaysTheDefaults(t *testing.T) {
	text := regexp.MustCompile(`(?m)^( *)#(\S)`).ReplaceAllString(Sample(), "$1$2")
	got, err := Load(Source{Path: write(t, text)})
	if err != nil {
		t.Fatal(err)
	}
	got.Kafka.Brokers = nil // written as an empty list
	if diff := cmp.Diff(sampleConfig(), got); diff != "" {
		t.Errorf("loading the sample without comment signs (-want +got):\n%s", diff)
	}
}

func TestSampleHasEveryKey(t *testing.T) {
	var missing []string
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		switch {
		case isLeaf(typ):
		case typ.Kind() != reflect.Struct:
			look(typ.Elem())
		default:
			for i := range typ.NumField() {
				name := key(typ.Field(i))
				if name == "" {
					t.Errorf("%v.%s has no yaml tag", typ, typ.Field(i).Name)
				}
				if !regexp.MustCompile(`(?m)^ *#?(- )?` + name + `:`).MatchString(Sample()) {
					missing = append(missing, name)
				}
				look(typ.Field(i).Type)
			}
		}
	}
	look(reflect.TypeFor[idem.Config]())
	if len(missing) > 0 {
		t.Errorf("the sample lacks %q", missing)
	}
}

const sampleHeader = `# Configuration of an idem application: every key, its meaning and its default.
# Take the # away in front of a key to change it.
#
# Each key can also be set by a variable (kafka.createTopics is
# IDEM_KAFKA_CREATE_TOPICS), several by IDEM_SET="path=value;path=value", and by
# -set path=value; in this order they override this file.
#
# ${NAME} in a value stands for a variable of the environment, ${NAME:-text} for
# text if that is unset or empty, $${ for a plain ${. Durations are written like
# 250ms, 1h30m or 7d.
`

// sampleConfig has the defaults, and an example of each thing that has a name.
func sampleConfig() idem.Config {
	p := idem.Policy{}.WithDefaults()
	c := idem.Config{
		Breakers: map[string]idem.BreakerConfig{"stripe": {}},
		Classify: []idem.RuleConfig{{SQLState: "40001", Class: idem.ClassTransient}},
		Defaults: idem.OperationConfig{
			Concurrency: new(8), RatePerSecond: new(0.0), Unordered: new(false), Retention: new(192 * time.Hour),
			Transaction: new(idem.TransactionOwn), Group: idem.GroupConfig{Size: new(100), Wait: new(2 * time.Millisecond), Budget: new(200 * time.Millisecond), Parallel: new(2)},
			DeadLetterTopic: new(""), OnMissingKey: new(idem.MissingDeadLetters), OnKeyReuse: new(idem.ReuseDeadLetters), Dependency: new(""),
			Policy: idem.PolicyConfig{
				MaxAttempts: new(p.MaxAttempts), Quick: new(p.Quick), QuickDelay: new(p.QuickDelay), Timeout: new(p.Timeout),
				OnBug: new(p.OnBug), MaxDeliveries: new(p.MaxDeliveries), MaxRetryAfter: new(p.MaxRetryAfter),
			},
		},
		Consumers: map[string]idem.OperationConfig{"charge": {
			Concurrency: new(4), Dependency: new("stripe"),
			Policy: idem.PolicyConfig{MaxAttempts: new(10), Timeout: new(5 * time.Second)},
		}},
	}
	b := &c.Defaults.Policy.Backoff
	b.Base, b.Max, b.Factor = new(p.Backoff.Base), new(p.Backoff.Max), new(p.Backoff.Factor)
	return c.WithDefaults()
}

// sampler writes a configuration as a commented file.
type sampler struct {
	docs map[string]string
	done map[string]bool
	out  strings.Builder
}

// section writes the fields of a struct. Keys of an example are all commented
// out, sections included: comment is "#" there.
func (g *sampler) section(v reflect.Value, docPath, indent, comment string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		at := docPath + "." + f.Name
		if isLeaf(f.Type) && f.Type.Kind() == reflect.Pointer && v.Field(i).IsNil() {
			continue
		}
		if !isLeaf(f.Type) && comment == "#" && v.Field(i).IsZero() {
			continue
		}
		g.doc(at, indent)
		g.field(v.Field(i), key(f), at, indent, comment)
	}
}

func (g *sampler) field(v reflect.Value, name, at, indent, comment string) {
	if t := v.Type(); t.Name() != "" && t.Kind() == reflect.Struct {
		at = t.Name()
	}
	deeper := indent + "  "
	switch {
	case isLeaf(v.Type()):
		fmt.Fprintf(&g.out, "%s#%s: %s\n", indent, name, render(v))
	case v.Kind() == reflect.Struct:
		fmt.Fprintf(&g.out, "%s%s%s:\n", indent, comment, name)
		g.section(v, at, deeper, comment)
	case v.Kind() == reflect.Map:
		fmt.Fprintf(&g.out, "%s%s:\n", indent, name)
		for _, k := range v.MapKeys() {
			fmt.Fprintf(&g.out, "%s#%s:\n", deeper, k)
			g.section(v.MapIndex(k), v.Type().Elem().Name(), deeper+"  ", "#")
		}
	default:
		fmt.Fprintf(&g.out, "%s%s:\n", indent, name)
		for i := range v.Len() {
			fmt.Fprintf(&g.out, "%s#-\n", deeper)
			g.section(v.Index(i), v.Type().Elem().Name(), deeper+"  ", "#")
		}
	}
}

// doc writes the comment of a field, the first time it comes.
func (g *sampler) doc(at, indent string) {
	if g.done[at] {
		return
	}
	if g.done == nil {
		g.done = map[string]bool{}
	}
	g.done[at] = true
	if indent == "" {
		g.out.WriteString("\n")
	}
	line := indent + "#"
	units := regexp.MustCompile(`(\d) (ms|s|min|days)\b`) // stay with their number
	for _, word := range strings.Fields(units.ReplaceAllString(g.docs[at], "$1\x00$2")) {
		word = strings.ReplaceAll(word, "\x00", " ")
		if len(line)+1+len(word) > 80 {
			fmt.Fprintln(&g.out, line)
			line = indent + "#"
		}
		line += " " + word
	}
	fmt.Fprintln(&g.out, line)
}

func render(v reflect.Value) string {
	switch v := reflect.Indirect(v).Interface().(type) {
	case time.Duration:
		text := regexp.MustCompile(`([hm])0s$`).ReplaceAllString(v.String(), "$1")
		text = regexp.MustCompile(`h0m$`).ReplaceAllString(text, "h")
		if days := v / (24 * time.Hour); days > 1 && v%(24*time.Hour) == 0 {
			text = strconv.Itoa(int(days)) + "d"
		}
		return text
	case slog.Level:
		return strings.ToLower(v.String())
	default:
		if text := fmt.Sprint(v); text != "" && text != "40001" {
			return text
		}
		return fmt.Sprintf("%q", v)
	}
}

// docsOf returns the comments of the fields of all structs in a file, by
// "Type.Field" and, in structs without a name, "Type.Field.Field".
func docsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	var collect func(path string, s *ast.StructType)
	collect = func(path string, s *ast.StructType) {
		for _, f := range s.Fields.List {
			at := path + "." + f.Names[0].Name
			docs[at] = f.Doc.Text()
			if docs[at] == "" {
				t.Errorf("%s has no comment", at)
			}
			if inner, ok := f.Type.(*ast.StructType); ok {
				collect(at, inner)
			}
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if s, ok := spec.Type.(*ast.StructType); ok {
				collect(spec.Name.Name, s)
			}
		}
		return true
	})
	return docs
}

func TestVariablesAreUnambiguous(t *testing.T) {
	var names []string
	for name := range variables() {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("two keys have one variable: %q", names)
	}
	for _, want := range []string{"IDEM_KAFKA_CREATE_TOPICS", "IDEM_POSTGRES_DSN", "IDEM_KAFKA_CLIENT_ID", "IDEM_KAFKA_TLS_CA_FILE", "IDEM_DEFAULTS_POLICY_BACKOFF_BASE", "IDEM_SQLITE_PATH"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s among %q", want, names)
		}
	}
}
