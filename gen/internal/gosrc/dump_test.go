package gosrc_test

import (
	"reflect"

	"github.com/idem-go/idem/gen/internal/model"
)

// plainContract is a contract as maps without empty values, in which a type
// with a name, a message or a send is shown by its name where it is used.
func plainContract(c *model.Contract) map[string]any {
	out := map[string]any{"Title": c.Title, "Version": c.Version, "Description": c.Description, "Source": c.Source}
	for _, op := range c.Operations {
		put(out, "Operations", op.ID, plain(reflect.ValueOf(*op)))
	}
	for _, s := range c.Sends {
		put(out, "Sends", s.ID, plain(reflect.ValueOf(*s)))
	}
	for _, m := range c.Messages {
		put(out, "Messages", m.Name, plain(reflect.ValueOf(*m)))
	}
	for _, t := range c.Types {
		put(out, "Types", t.Name, plain(reflect.ValueOf(*t)))
	}
	return out
}

func put(out map[string]any, section, name string, v any) {
	if out[section] == nil {
		out[section] = map[string]any{}
	}
	out[section].(map[string]any)[name] = v
}

func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		switch x := v.Interface().(type) {
		case *model.Type:
			if x.Name != "" {
				return "type " + x.Name
			}
		case *model.Message:
			return "message " + x.Name
		case *model.Send:
			return "send " + x.ID
		}
		return plain(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if f := v.Field(i); !f.IsZero() {
				out[name] = plain(f)
			}
		}
		if pos := v.FieldByName("Pos"); pos.IsValid() && !pos.IsZero() {
			out["Pos"] = pos.Interface().(interface{ String() string }).String()
		}
		return out
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		list := []any{}
		for i := range v.Len() {
			list = append(list, plain(v.Index(i)))
		}
		return list
	default:
		return v.Interface()
	}
}
