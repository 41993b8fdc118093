package asyncapi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/source"
)

// hostile are contracts that would take long or for ever.
func hostile() map[string]string {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "%d", strconv.Itoa(i)))
		}
		return b.String()
	}
	recursive := `{type: object, properties: {a: {$ref: '#/x-%s'}, b: {$ref: '#/x-%[1]s'}, c: {$ref: '#/x-%[1]s'}}}`
	head := "asyncapi: 3.0.0\ninfo: {title: t, version: v}\n"
	return map[string]string{
		"recursive headers in a trait and a message": strings.Replace(base, "    emitida:\n", "    emitida:\n      traits: [{headers: {$ref: '#/x-a'}}]\n      headers: {$ref: '#/x-b'}\n", 1) +
			"x-a: " + fmt.Sprintf(recursive, "a") + "\nx-b: " + fmt.Sprintf(recursive, "b") + "\n",
		"many operations of many messages": head + "channels:\n  c:\n    address: c\n    messages:\n" + many(1000, "      m%d: {payload: {type: object}}\n") +
			"operations:\n" + many(1000, "  o%d: {action: receive, channel: {$ref: '#/channels/c'}}\n"),
		"an operation of many traits": strings.Replace(base, snd, snd+"    traits: ["+many(9000, "{$ref: '#/components/operationTraits/padrao'}, ")+"{x-idempotency: {}}]\n", 1),
		"one example for many messages": head + "x-e: &e [{payload: {a: [" + many(5000, "1,") + "]}}]\nchannels:\n  c:\n    address: c\n    messages:\n" +
			many(60, "      m%d: {examples: *e, payload: {}}\n") + "operations:\n  o: {action: send, channel: {$ref: '#/channels/c'}}\n",
		"a trait of itself":      strings.Replace(base, "padrao: {", "padrao: {$ref: '#/components/operationTraits/padrao', ", 1) + "\n",
		"an operation of itself": strings.Replace(base, snd, "    $ref: '#/operations/emitir'\n", 1),
		"many faults":            head + "channels: {}\noperations:\n" + many(20_000/4, "  o%d: {action: x}\n"),
	}
}

// They are refused, in time.
func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c, problems := parse(t, map[string]string{"asyncapi.yaml": text}, Options{}, "")
			t.Logf("%v, %d problems, the first: %.200s", time.Since(start).Round(time.Millisecond), len(problems), append(problems, diag.Problem{})[0])
			if c != nil {
				t.Error("it was accepted")
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(base)
	f.Add(fmt.Sprintf(several, "payload: {type: object}", "payload: {}"))
	f.Add("asyncapi: 3.0.0\ninfo: {title: t, version: v}\nchannels: {c: {$ref: '#/channels/c'}}\noperations: {o: {$ref: '#/operations/o'}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		var problems diag.List
		set := source.NewSet(fstest.MapFS{"asyncapi.yaml": {Data: []byte(text)}}, &problems)
		c := Load(set, &problems, "asyncapi.yaml", Options{})
		if (c == nil) != (problems.Len() > 0) {
			t.Errorf("contract is nil: %v, problems: %v", c == nil, problems.Sorted())
		}
		for _, p := range problems.Sorted() {
			if strings.Contains(p.Message+p.Fix, "\n") {
				t.Errorf("a message of two lines: %q", p)
			}
		}
	})
}
