package asyncapi

import (
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// types turns schemas into types of the model and chooses Go names.
type types interface {
	// Name is the exported Go name for a name of the contract.
	Name(s string) string
	// Payload returns the type of a message's payload, Headers of its headers;
	// nil after reporting what is wrong.
	Payload(n *source.Node, goName string) *model.Type
	Headers(n *source.Node, goName string) *model.Type
	// Types returns the named types, sorted by name.
	Types() []*model.Type
}
