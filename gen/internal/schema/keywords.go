package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/model"
)

// support says what becomes of a keyword.
type support int

const (
	refused    support = iota // an error at its place
	supported                 // checked by generated code
	annotation                // kept for people or not at all; it restricts nothing
)

// keyword is a row of the table that docs/keywords.md shows.
type keyword struct {
	support support
	// kinds of type that it says something about; nil is any.
	kinds []model.Kind
	// note is for people; of a refused one, what to write instead.
	note string
}

// keywords returns the table. What is not in it is unknown.
func keywords() map[string]keyword { return table }

var table = func() map[string]keyword {
	objects := []model.Kind{model.Object, model.MapOf}
	lists := []model.Kind{model.Array}
	text := []model.Kind{model.String}
	numbers := []model.Kind{model.Int, model.Float}
	yes := func(kinds []model.Kind, note string) keyword { return keyword{supported, kinds, note} }
	no := func(note string) keyword { return keyword{refused, nil, note} }
	note := func(text string) keyword { return keyword{annotation, nil, text} }
	return map[string]keyword{
		"$ref":                 yes(nil, "to components and other files below the root folder; beside it only description, summary, title and x-…"),
		"additionalProperties": yes(objects, "true, false or a schema; where it is absent, extraFields of idemgen.yaml decides"),
		"allOf":                yes(nil, "objects and restrictions are merged; contradictions, a member described in two, and additionalProperties that is about the members of another are refused"),
		"const":                yes(nil, "of scalars"),
		"discriminator":        yes(nil, "the name of a member that each schema of oneOf requires, as a string with a const of its own; without it such a member is found"),
		"enum":                 yes(nil, "of strings or integers; null among them makes the value nullable; unknown values: unknownEnum of idemgen.yaml"),
		"exclusiveMaximum":     yes(numbers, "a number, as in draft-06 and later"),
		"exclusiveMinimum":     yes(numbers, "a number, as in draft-06 and later"),
		"format":               yes([]model.Kind{model.String, model.Int, model.Float}, "of strings, checked: "+strings.Join(formats(), ", ")+"; of numbers, no restriction: "+strings.Join(machine(), ", ")),
		"items":                yes(lists, "one schema for all"),
		"maxItems":             yes(lists, ""),
		"maxLength":            yes(text, "in characters"),
		"maxProperties":        yes(objects, ""),
		"maximum":              yes(numbers, "up to 2⁶⁴−1 for integers whose minimum is 0 or more, else up to 2⁶³−1"),
		"minItems":             yes(lists, ""),
		"minLength":            yes(text, "in characters"),
		"minProperties":        yes(objects, ""),
		"minimum":              yes(numbers, "from −2⁶³ for integers"),
		"multipleOf":           yes(numbers, "computed in decimals, so that 0.3 is a multiple of 0.1"),
		"nullable":             yes(nil, "beside type: as null among the types"),
		"oneOf":                yes(nil, "with {type: 'null'}; of objects told apart by a constant; of values of different JSON types"),
		"pattern":              yes(text, "a regular expression of Go (RE2) that means the same in JavaScript; but the dot is any character except `\\n`"),
		"properties":           yes(objects, ""),
		"required":             yes(objects, "names among properties"),
		"type":                 yes(nil, "one, with or without null; 1.0 is an integer; integers have 64 bits, numbers the precision of a float64"),
		"uniqueItems":          yes(lists, ""),

		"$comment": note(""),
		"$defs":    note("a place for schemas that others refer to"), "definitions": note("a place for schemas that others refer to"),
		"$schema":         note(""),
		"contentEncoding": note("not decoded"), "contentMediaType": note(""),
		"default":      note("not applied: an absent member stays absent"),
		"deprecated":   note(""),
		"description":  note("a comment in the generated code"),
		"example":      note(""),
		"examples":     note("those of messages are used by tests"),
		"externalDocs": note(""),
		"readOnly":     note(""), "writeOnly": note(""),
		"summary": note(""), "title": note("names an alternative of oneOf"),

		"$anchor": no("use $ref with a JSON pointer"), "$id": no("remove it: references are resolved by files"), "$dynamicAnchor": no(""), "$dynamicRef": no("use $ref"),
		"$recursiveAnchor": no(""), "$recursiveRef": no("use $ref"), "$vocabulary": no(""),
		"additionalItems":   no("use one schema for all items, or an object"),
		"anyOf":             no("use oneOf with alternatives that exclude each other"),
		"contains":          no("check it in the handler"),
		"dependencies":      no("check it in the handler"),
		"dependentRequired": no("check it in the handler"), "dependentSchemas": no("check it in the handler"),
		"else": no("use oneOf"), "if": no("use oneOf"), "then": no("use oneOf"),
		"maxContains": no("check it in the handler"), "minContains": no("check it in the handler"),
		"not":               no("say what is allowed"),
		"patternProperties": no("use additionalProperties"),
		"prefixItems":       no("use one schema for all items, or an object"),
		"propertyNames":     no("check it in the handler"),
		"unevaluatedItems":  no(""), "unevaluatedProperties": no("use additionalProperties"),
	}
}()

func known() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(table)), func(name string) bool { return table[name].support == refused })
}

// Keywords is the table as Markdown, for the documentation.
func Keywords() string {
	var b strings.Builder
	for _, part := range []struct {
		support     support
		title, head string
	}{
		{supported, "Supported", "What generated code checks."},
		{annotation, "Annotations", "They restrict nothing, and nothing depends on them."},
		{refused, "Refused", "An error at their place (IDEM083). So is any other word that is no keyword and does not begin with `x-` (IDEM082)."},
	} {
		b.WriteString("## " + part.title + "\n\n" + part.head + "\n\n| keyword | |\n|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(table)) {
			if k := table[name]; k.support == part.support {
				b.WriteString("| `" + name + "` | " + k.note + " |\n")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
