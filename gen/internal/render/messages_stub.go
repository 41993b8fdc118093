package render

import (
	"fmt"
	"go/format"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// Messages stands in until the messages are rendered in earnest: delete this
// file then.
func Messages(c *model.Contract, pkg string) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s// source: %s\n\n// Package %s holds the messages and operations of the contract.\npackage %s\n\nimport \"encoding/json\"\n\nvar _ json.RawMessage\n", header, c.Source, pkg, pkg)
	for _, t := range c.Types {
		switch {
		case t.Declared:
		case t.Kind == model.Object:
			fmt.Fprintf(&b, "\n// %s is generated.\ntype %s struct {\n", t.Name, t.Name)
			for _, f := range t.Fields {
				typ, opt := goType(f.Type), ""
				if !f.Required || f.Nullable {
					typ = pointerIf(true, f.Type)
				}
				if !f.Required {
					opt = ",omitzero"
				}
				fmt.Fprintf(&b, "%s %s `json:%q`\n", f.GoName, typ, f.Name+opt)
			}
			b.WriteString("}\n")
		case t.Kind == model.Union:
			fmt.Fprintf(&b, "\n// %s is generated.\ntype %s json.RawMessage\n", t.Name, t.Name)
		default:
			fmt.Fprintf(&b, "\n// %s is generated.\ntype %s %s\n", t.Name, t.Name, goType(&model.Type{Kind: t.Kind, Unsigned: t.Unsigned, Elem: t.Elem, ElemNullable: t.ElemNullable}))
		}
		if t.Name == "" {
			continue
		}
		fmt.Fprintf(&b, "\n// Validate is a stand-in.\nfunc (m %s) Validate() error { return nil }\n", t.Name)
	}
	return format.Source([]byte(b.String()))
}
