package report_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/idem-go/idem/conformance/report"
)

// hostile is text that means something to HTML, CSS or Markdown.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><b>`, `--></title>`, `{{.Verdict}}`,
	"`code` ```", `a|b\|c`, `[x](javascript:alert(1))`, `![x](y)`, `# head`, `**b** _i_ ~s~`, `&lt;b&gt; &amp;`, "line\r\n\r\n# head",
	"tab\tbell\x07nul\x00", "\u2028line\u2029", `日本語 ß é`, `|---|`, `<!-- c -->`, `$x$`,
}

// with puts text wherever a report can have any.
func with(s string) report.Report {
	r := sample()
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeOf(r.Crash[0].Run.Started) {
				return
			}
			for _, f := range v.Fields() {
				walk(f)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			v.Clear()
			v.SetMapIndex(reflect.ValueOf(s), reflect.ValueOf(s))
		case reflect.String:
			if v.Type() != reflect.TypeFor[report.Outcome]() && v.String() != "" {
				v.SetString(s)
			}
		}
	}
	walk(reflect.ValueOf(&r))
	for i := range r.Conformance[0].Results { // which would else be one case, of which the worst outcome stays
		r.Conformance[0].Results[i].ID += string(rune('a' + i))
	}
	r.Baseline[0].Pipeline += "x"
	return r
}

var (
	tag       = regexp.MustCompile(`<!?/?[a-zA-Z][^>]*>|<!--.*?-->`)
	attribute = regexp.MustCompile(`"[^"]*"`)
)

// skeleton is a page without its text and the values of attributes.
func skeleton(t *testing.T, r report.Report) string {
	t.Helper()
	html, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(html), "ZgotmplZ") {
		t.Error("the template refused a value")
	}
	tags := tag.FindAllString(string(html), -1)
	for i := range tags {
		tags[i] = attribute.ReplaceAllString(tags[i], `""`)
	}
	return strings.Join(tags, "\n")
}

func TestTextStaysTextInHTML(t *testing.T) {
	want := skeleton(t, with("word"))
	for _, s := range hostile {
		// Ids with a dash divide the matrix into families as any do.
		if got := skeleton(t, with(s)); strings.ReplaceAll(got, "</tbody>\n<tbody>\n", "") != strings.ReplaceAll(want, "</tbody>\n<tbody>\n", "") {
			t.Errorf("%q changes the structure of the page", s)
		}
	}
}

// In Markdown each line must keep its beginning, and each row its cells.
func TestTextStaysTextInMarkdown(t *testing.T) {
	begin := regexp.MustCompile(`^(#+ |\* |\| |\|---|\d+\. |\*\*)`)
	outline := func(r report.Report) string {
		var lines []string
		for line := range strings.Lines(string(r.Markdown())) {
			plain := strings.NewReplacer(`\\`, "", `\|`, "").Replace(line)
			if strings.HasPrefix(line, "### ") || strings.HasPrefix(line, "| case ") || strings.HasPrefix(line, "|---") || strings.TrimSpace(line) == "" {
				continue // as many as there are families
			}
			lines = append(lines, begin.FindString(line)+strings.Repeat("¦", strings.Count(plain, "|")))
		}
		return strings.Join(lines, "\n")
	}
	want := outline(with("word"))
	for _, s := range hostile {
		r := with(s)
		if got := outline(r); got != want {
			t.Errorf("%q changes the structure:\n%s\nwant\n%s", s, got, want)
		}
		if found := regexp.MustCompile(`[^\\]<[a-z/!]|[^\\]\]\(`).FindString(string(r.Markdown())); found != "" {
			t.Errorf("%q leaves %q", s, found)
		}
	}
}

func TestDocuments(t *testing.T) {
	text := string(sample().Markdown())
	for _, want := range []string{
		"**4 problems: this is no certificate.**",
		"* 3 cases on 1 harness: 1 passed, 1 failed, 1 skipped with a reason\n",
		"| DUP-01 | one effect of many copies | ✓ |\n", "| DUP-02 | another | **✗** |\n", "| DUP-03 | a third | 1 |\n", "1. capability DurableDelay\n",
		"| kafka | kill at step | committing | 200 | exact, 400 | 1 lost, 0 doubled of 400 | 0 lost, 2 doubled of 10 |\n",
		"| BASE-01 | a handler fails once | 2 lost, 1 doubled, 1 parked of 3 | exact, 3 of 3 |\n",
		"idem v1.2.3, go1.26.0, linux/amd64, 2 CPUs, PostgreSQL 17.6 (fsync on) | OrderedByKey true |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the document lacks %q:\n%s", want, text)
		}
	}
	if got := string((report.Report{}).Markdown()); !strings.Contains(got, "this is no certificate") {
		t.Errorf("nothing ran, and the document says\n%s", got)
	}
	good := sample()
	good.Conformance[0].Results, good.Crash = good.Conformance[0].Results[:1], nil
	if got := string(good.Markdown()); !strings.Contains(got, "**everything that ran held.**") {
		t.Errorf("losses of others are no problem of ours:\n%s", got)
	}
}
