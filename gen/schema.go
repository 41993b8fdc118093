package gen

import (
	"fmt"

	"github.com/idem-go/idem/gen/internal/jsonschemas"
)

// Schema returns the JSON Schema, draft-07, with the given name, for
// editors and other programs: x-idempotency, or idemgen, that of idemgen.yaml.
func Schema(name string) ([]byte, error) {
	switch name {
	case "x-idempotency":
		return jsonschemas.XIdempotency(), nil
	case "idemgen":
		return jsonschemas.Config(), nil
	default:
		return nil, fmt.Errorf("there is no schema %q: there are x-idempotency and idemgen", name)
	}
}
