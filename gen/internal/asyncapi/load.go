// Package asyncapi reads AsyncAPI 3.0 and 3.1 documents with their
// x-idempotency extensions into the model.
package asyncapi

import (
	"regexp"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// Options are what idemgen.yaml says about reading a contract. The zero value
// is that of an empty idemgen.yaml.
type Options struct {
	// RejectExtraFields and AcceptUnknownEnum are for schemas that do not say.
	RejectExtraFields, AcceptUnknownEnum bool
	// MessageHeader is the header that names the message where no constant
	// tells the messages of a channel apart; "" is none.
	MessageHeader string
	// Defaults are the fields of x-idempotency for operations that do not set
	// them; nil is none.
	Defaults *source.Node
}

// Load reads the document at path. It reports everything that is wrong with it
// to problems, and then returns nil.
func Load(set *source.Set, problems *diag.List, path string, opt Options) *model.Contract {
	before := problems.Len()
	file := set.Load(path, diag.Pos{File: path})
	if file == nil {
		return nil
	}
	l := &loader{
		set: set, problems: problems, opt: opt, root: file.Root,
		types:    newTypes(set, problems, opt),
		channels: map[*source.Node]*channel{},
		messages: map[*source.Node]*message{},
		sends:    map[*source.Node]*send{},
		broken:   map[*source.Node]bool{},
	}
	contract := l.document()
	if problems.Len() > before {
		return nil
	}
	return contract
}

type loader struct {
	set      *source.Set
	problems *diag.List
	opt      Options
	root     *source.Node
	types    types

	// What has been done, to stop what would take long: nodes made by merging,
	// messages looked at for an operation, bytes of examples.
	merged, pairs, examplesSize int

	// By their definition, the node that all references end at.
	channels map[*source.Node]*channel
	messages map[*source.Node]*message
	sends    map[*source.Node]*send
	broken   map[*source.Node]bool // operations that could not be read
}

func (l *loader) document() *model.Contract {
	if !l.version() || !l.object(l.root, documentFields, nil) {
		return nil
	}
	out := &model.Contract{Source: l.root.File.Name}
	if info := l.need(l.root, "info"); info != nil {
		if info = l.set.Deref(info); info != nil && l.object(info, infoFields, nil) {
			for _, name := range []string{"title", "version"} {
				l.need(info, name)
			}
			out.Title, out.Version, out.Description = l.text(info, "title"), l.text(info, "version"), l.text(info, "description")
		}
	}
	l.text(l.root, "defaultContentType")
	l.components()
	l.allChannels()
	if l.opt.Defaults != nil {
		l.decode(l.opt.Defaults)
	}
	operations := l.operations()
	l.contract(out, operations)
	return out
}

var supported = regexp.MustCompile(`^3\.[01]\.(0|[1-9][0-9]*)$`)

// version checks that the document is one that we can read.
func (l *loader) version() bool {
	n := l.root.Get("asyncapi")
	const write = `begin with "asyncapi: 3.0.0" or 3.1.0`
	switch {
	case l.root.Kind != source.Map:
		l.problems.Addf(diag.AsyncAPIVersion, l.root.Pos, write, "the document must be an object, is %s", l.root.Kind)
	case n == nil && l.root.Get("openapi") != nil:
		l.problems.Addf(diag.AsyncAPIVersion, l.root.Field("openapi").NamePos, "describe the messages in AsyncAPI 3", "this is an OpenAPI document")
	case n == nil:
		l.problems.Addf(diag.AsyncAPIVersion, l.root.Pos, write, "the document does not say that it is AsyncAPI")
	case n.Kind != source.String && n.Kind != source.Float && n.Kind != source.Int:
		l.problems.Addf(diag.AsyncAPIVersion, n.Pos, write, "asyncapi must be a version, is %s", n.Kind)
	case n.Kind == source.String && supported.MatchString(n.Text):
		return true
	case len(n.Text) > 1 && n.Text[:2] == "2.":
		l.problems.Addf(diag.AsyncAPIVersion, n.Pos, "convert the document: asyncapi convert FILE --target-version 3.0.0", "AsyncAPI %s is too old", n.Text)
	default:
		l.problems.Addf(diag.AsyncAPIVersion, n.Pos, "write 3.0.0 or 3.1.0", "AsyncAPI version %s is not supported", show(n))
	}
	return false
}
