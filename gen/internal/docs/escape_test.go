package docs

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/model"
)

// hostile is text that means something to HTML, SVG, CSS, Markdown, its
// tables, code spans and fences, or to mermaid.
var hostile = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</style><b>`, `--></title>`,
	"`code` ``` ~~~", `a|b\|c`, `[x](javascript:alert(1))`, `![x](y)`, `# head`, `- item`, `1. item`, `+ item`, `=`, `* b *`, `**b** _i_`,
	`"]; click o0 "javascript:alert(1)"`, `%%{init: {"theme":"dark"}}%%`, `end`, `&lt;b&gt; &amp; #quot; #35;`, `$x$ ~s~`, `{{.Title}}`,
	"line\nline", "line\r\n\r\n# head", "tab\tbell\x07nul\x00", "\u2028line\u2029", `日本語 ß é`, `|---|`, `> quote`, `<!-- c -->`, "``", " ", `\`,
}

// poison puts text wherever the contract can have any.
func poison(c *model.Contract, s string) {
	seen := map[any]bool{}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() && !seen[v.Interface()] {
				seen[v.Interface()] = true
				walk(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				switch name := v.Type().Field(i).Name; name {
				case "GoName", "Transaction", "OnMissingKey", "OnConflict", "OnBug", "Pos", "DeadLetterTopic":
				case "Format":
					if v.Field(i).String() != "" {
						walk(v.Field(i))
					}
				default:
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				if v.Type().Elem().Kind() != reflect.Uint8 {
					walk(v.Index(i))
				}
			}
		case reflect.Map:
			for _, k := range v.MapKeys() {
				v.SetMapIndex(k, reflect.ValueOf(s))
			}
		case reflect.String:
			if v.String() != "" {
				v.SetString(s)
			}
		}
	}
	walk(reflect.ValueOf(c))
}

var (
	tag       = regexp.MustCompile(`<!?/?[a-zA-Z][^>]*>|<!--.*?-->`)
	attribute = regexp.MustCompile(`"[^"]*"`)
)

// skeleton is the page without text and attributes' values.
func skeleton(page []byte) string {
	tags := tag.FindAllString(string(page), -1)
	for i := range tags {
		tags[i] = attribute.ReplaceAllString(tags[i], `""`)
	}
	return strings.Join(tags, "\n")
}

func TestTextStaysTextInHTML(t *testing.T) {
	t.Parallel()
	harmless := orders()
	poison(harmless, "word")
	want := skeleton(html(t, harmless))
	for _, s := range hostile {
		c := orders()
		poison(c, s)
		got := html(t, c)
		// A blank or several paragraphs of description make fewer or more of them.
		clean := func(s string) string {
			return strings.NewReplacer("<p>\n", "", "</p>\n", "").Replace(s)
		}
		if g, w := clean(skeleton(got)), clean(want); g != w {
			t.Errorf("%q changes the page's structure", s)
		}
		if strings.Contains(string(got), "ZgotmplZ") {
			t.Errorf("%q: the template refused a value", s)
		}
	}
}

var label = regexp.MustCompile(`^  [a-z]\d+(\(\[|\[\(|\[|>)"((?:[\p{L}\p{N} .-]|#\d+;)*)"(\]\)|\)\]|\])$`)

func TestTextStaysTextInMermaid(t *testing.T) {
	t.Parallel()
	for _, s := range hostile {
		c := orders()
		poison(c, s)
		source := newPage(c).Flow.mermaid()
		for line := range strings.Lines(strings.TrimPrefix(source, "flowchart LR\n")) {
			line = strings.TrimSuffix(line, "\n")
			if !label.MatchString(line) && !regexp.MustCompile(`^  [a-z]\d+ (-->|-\.->) [a-z]\d+$`).MatchString(line) {
				t.Errorf("%q gives the line %q", s, line)
			}
		}
	}
}

// In Markdown each line must keep its beginning, and each row its cells.
func TestTextStaysTextInMarkdown(t *testing.T) {
	t.Parallel()
	harmless := orders()
	poison(harmless, "word")
	want := outline(string(Markdown(harmless)))
	for _, s := range hostile {
		c := orders()
		poison(c, s)
		text := string(Markdown(c))
		if got := outline(text); strings.TrimSpace(s) != "" && !strings.Contains(s, "\n") && got != want {
			t.Errorf("%q changes the structure:\n%s\nwant\n%s", s, got, want)
		}
		if found := regexp.MustCompile(`<(script|img|b|/style|/title)`).FindString(withoutCode(text)); found != "" {
			t.Errorf("%q leaves the tag %q", s, found)
		}
	}
}

var (
	fenced = regexp.MustCompile("(?ms)^(````*)[a-z]+$.*?^````*$")
	spans  = regexp.MustCompile("(`+)[^`].*?`+")
)

func withoutCode(s string) string {
	return spans.ReplaceAllString(fenced.ReplaceAllString(s, "```"), "")
}

// outline is what begins each line, and the number of a row's cells.
func outline(s string) string {
	var out []string
	for line := range strings.Lines(fenced.ReplaceAllString(s, "```")) {
		begin := regexp.MustCompile("^(#+ <a id|#+ |\\* |\\| |\\|---|```|<!--|>|- |\\d+[.)] |\\+ |=+$)").FindString(line)
		if begin == "" && strings.TrimSpace(line) == "" {
			continue
		}
		out = append(out, begin+strings.Repeat("¦", strings.Count(strings.ReplaceAll(line, `\\`, ""), "|")-strings.Count(strings.ReplaceAll(line, `\\`, ""), `\|`)))
	}
	return strings.Join(out, "\n")
}

func TestCodeSpan(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"a": "`a`", "a`b": "``a`b``", "`a": "`` `a ``", "a|b": `<code>a\|b</code>`, "": "(blank)", "a\nb": "`a b`", "<b>": "`<b>`",
	} {
		if got := codeSpan(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}
