package asyncapi

import (
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/schema"
	"github.com/idem-go/idem/gen/internal/source"
)

func newTypes(set *source.Set, problems *diag.List, opt Options) types {
	return schema.New(set, problems, schema.Options{RejectExtraFields: opt.RejectExtraFields, AcceptUnknownEnum: opt.AcceptUnknownEnum})
}
