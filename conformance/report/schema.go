package report

import _ "embed" // the schema

//go:embed schema.json
var schema string

// Schema is the JSON Schema (draft 2020-12) of a report's JSON form, for readers
// in other languages.
func Schema() string { return schema }
