package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/schema"
)

// chain is a payload that refers to the first of n schemas, each of which is
// format with the number of the next for @.
func chain(n int, format string) string {
	var b strings.Builder
	b.WriteString("payload: {type: object, properties: {a: {$ref: '#/s0'}}}\n")
	for i := range n {
		fmt.Fprintf(&b, "s%d: %s\n", i, strings.ReplaceAll(format, "@", fmt.Sprint(i+1)))
	}
	fmt.Fprintf(&b, "s%d: {type: object, properties: {x: {type: string}}}\n", n)
	return b.String()
}

// Schemas that grow when they are followed are followed for a while only.
func TestHostile(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want diag.Code
	}{
		"each alternative thrice": {chain(60, "{oneOf: [{$ref: '#/s@'}, {$ref: '#/s@'}, {$ref: '#/s@'}]}"), diag.SchemaUnion},
		"each member twice":       {chain(60, "{type: object, properties: {a: {allOf: [{$ref: '#/s@'}, {type: object}]}, b: {allOf: [{$ref: '#/s@'}, {type: object}]}}}"), diag.TooBig},
		"each list in the next":   {chain(4000, "{type: array, items: {allOf: [{$ref: '#/s@'}, {description: more}]}}"), diag.TooBig},
		"many objects":            {chain(5100, "{type: object, properties: {a: {$ref: '#/s@'}}}"), diag.TooBig},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, _, problems := build(tc.text, schema.Options{})
			if took := time.Since(start); took > 60*time.Second {
				t.Errorf("took %v", took)
			}
			if len(problems) == 0 || problems[0].Code != tc.want {
				t.Errorf("got %.300v", problems)
			}
		})
	}
}
