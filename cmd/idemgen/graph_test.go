package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/idem-go/idem/gen"
)

// Types that hold themselves, or share others in every combination, are
// contracts like any other: everything is generated, documents included.
func TestTypesThatMeetAgain(t *testing.T) {
	const head = `asyncapi: 3.0.0
info: {title: A, version: '1'}
channels:
  c: {address: c, messages: {m: {$ref: '#/components/messages/m'}}}
operations:
  o: {action: receive, channel: {$ref: '#/channels/c'}, x-idempotency: {key: $message.payload#/k}}
components:
  messages:
    m: {payload: {type: object, required: [k], properties: {k: {type: string}, e: {$ref: '#/components/schemas/d0'}}}}
  schemas:
`
	var diamonds strings.Builder
	for i := range 30 {
		fmt.Fprintf(&diamonds, "    d%d: {type: object, required: [a, b], properties: {a: {$ref: '#/components/schemas/d%d'}, b: {$ref: '#/components/schemas/d%[2]d'}}}\n", i, i+1)
	}
	diamonds.WriteString("    d30: {type: object, properties: {z: {type: string}}}\n")
	var lists, values strings.Builder
	for i := range 12 {
		fmt.Fprintf(&lists, "    d%d: {type: array, minItems: 10, items: {$ref: '#/components/schemas/d%d'}}\n", i, i+1)
	}
	lists.WriteString("    d12: {type: string}\n")
	for i := range 5000 {
		fmt.Fprintf(&values, "v%d, ", i)
	}
	for name, schemas := range map[string]string{
		"a map of itself":  "    d0: {type: object, additionalProperties: {$ref: '#/components/schemas/d0'}}\n",
		"a list of itself": "    d0: {type: array, items: {$ref: '#/components/schemas/d0'}}\n",
		"diamonds":         diamonds.String(),
		"lists of lists":   lists.String(),
		"a long enum":      "    d0: {type: string, enum: [" + strings.TrimSuffix(values.String(), ", ") + "]}\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := newProject(t, head+schemas)
			report, err := gen.Generate(options(dir))
			if err != nil || len(report.Problems) > 0 {
				t.Fatal(err, report.Problems)
			}
			if _, err := gen.Docs(options(dir)); err != nil {
				t.Error(err)
			}
		})
	}
}
