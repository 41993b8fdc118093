package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// kinds is a set of JSON types. A number that is no integer is one of its own.
type kinds uint8

const (
	nullKind kinds = 1 << iota
	boolKind
	integerKind
	fractionKind
	stringKind
	arrayKind
	objectKind
	endOfKinds

	numberKind = integerKind | fractionKind
	anyKind    = endOfKinds - 1
)

var kindsByName = map[string]kinds{
	"array": arrayKind, "boolean": boolKind, "integer": integerKind, "null": nullKind, "number": numberKind, "object": objectKind, "string": stringKind,
}

func typeNames() []string { return slices.Sorted(maps.Keys(kindsByName)) }

// single is the kind of type that holds all of the JSON types but null, if one does.
func (k kinds) single() (model.Kind, bool) {
	switch k &^ nullKind {
	case boolKind:
		return model.Bool, true
	case integerKind:
		return model.Int, true
	case numberKind:
		return model.Float, true
	case stringKind:
		return model.String, true
	case arrayKind:
		return model.Array, true
	case objectKind:
		return model.Object, true
	default:
		return model.Raw, false
	}
}

// String lists the types but null.
func (k kinds) String() string {
	var names []string
	for _, name := range typeNames() {
		if set := kindsByName[name]; set != nullKind && k&set == set && (name != "integer" || k&numberKind != numberKind) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// kindsOf are the JSON types that values of a type have.
func kindsOf(t *model.Type) kinds {
	switch t.Kind {
	case model.Bool:
		return boolKind
	case model.Int:
		return integerKind
	case model.Float:
		return numberKind
	case model.String:
		return stringKind
	case model.Array:
		return arrayKind
	case model.Object, model.MapOf:
		return objectKind
	case model.Union:
		var k kinds
		for _, v := range t.Variants {
			k |= kindsOf(v.Type)
		}
		return k
	default:
		return anyKind
	}
}
