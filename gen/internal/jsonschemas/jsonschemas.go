// Package jsonschemas holds the JSON Schemas, of draft-07, that are published
// for editors: that of the x-idempotency extension and that of idemgen.yaml.
// idemgen itself does not read them; tests hold them and it together.
package jsonschemas

import (
	"bytes"
	_ "embed" // the schemas
	"encoding/json"
	"maps"
)

//go:embed x-idempotency.json
var xIdempotency []byte

//go:embed idemgen.json
var config []byte

// XIdempotency returns the schema of an x-idempotency object.
func XIdempotency() []byte { return bytes.Clone(xIdempotency) }

// Config returns the schema of idemgen.yaml. It stands alone: the schema of
// x-idempotency is part of it, for the defaults.
func Config() []byte {
	out, x := object(config), object(xIdempotency)
	definitions := out["definitions"].(map[string]any)
	maps.Copy(definitions, x["definitions"].(map[string]any))
	delete(x, "definitions")
	delete(x, "$schema")
	definitions["xIdempotency"] = x
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		panic("jsonschemas: " + err.Error()) // it was JSON a moment ago
	}
	return append(text, '\n')
}

func object(text []byte) map[string]any {
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		panic("jsonschemas: " + err.Error()) // the files are part of the program, and tested
	}
	return out
}
