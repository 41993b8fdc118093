// Package gosrc reads a Go package as a contract: structs are messages, and
// directives say what consumes and what sends them. It writes the AsyncAPI
// document of a contract too.
//
// The package need not compile, and nothing that it imports is looked at, so
// that a contract can be read before its dependencies or generated files are
// there.
package gosrc

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/source"
)

// Options are settings of the project that matter to a contract.
type Options struct {
	// MessageHeader is the header that names the message where nothing in the
	// messages tells them apart; "" is none.
	MessageHeader string
	// AcceptUnknownEnum lets values pass that no constant has.
	AcceptUnknownEnum bool
	// Defaults are x-idempotency fields for operations that do not set them;
	// nil is none.
	Defaults *source.Node
}

// Load reads the Go package in folder dir of root. It reports everything that
// is wrong to problems, and then returns nil.
func Load(root fs.FS, dir string, problems *diag.List, opt Options) *model.Contract {
	before := problems.Len()
	l := &loader{
		problems: problems,
		opt:      opt,
		contract: &model.Contract{Source: dir},
		messages: map[string]*message{},
		byTopic:  map[string][]*message{},
		rules:    map[string]*dispatchRule{},
	}
	if l.pkg = read(root, dir, problems); l.pkg == nil {
		return nil
	}
	l.types = newTypes(l.pkg, problems, opt.AcceptUnknownEnum)
	l.collect()
	l.describe()
	l.buildMessages()
	l.topics()
	l.buildSends()
	l.buildOperations()
	l.checkNames()
	if len(l.contract.Operations)+len(l.contract.Sends) == 0 && problems.Len() == before {
		problems.Addf(diag.EmptyGoContract, l.pkg.pos(l.pkg.files[0].ast.Name.Pos()), "write //idem:operation name=… topic=… above a message's type",
			"package %s has no //idem:operation and no //idem:send", l.pkg.name)
	}
	l.types.checkKeys(l.contract.Messages)
	if problems.Len() > before {
		return nil
	}
	l.contract.Types = reachable(l.contract)
	slices.SortFunc(l.contract.Operations, func(a, b *model.Operation) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(l.contract.Sends, func(a, b *model.Send) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(l.contract.Messages, func(a, b *model.Message) int { return cmp.Compare(a.Name, b.Name) })
	return l.contract
}

// loader turns the directives of a package into a contract.
type loader struct {
	pkg      *pkg
	types    *typeReader
	problems *diag.List
	opt      Options
	contract *model.Contract

	// What the directives say, in their order.
	about      *directive   // //idem:contract
	declared   []*directive // //idem:message
	operations []*group     // //idem:operation, by name
	sends      []*group     // //idem:send, by name

	messages map[string]*message   // by Go name
	byTopic  map[string][]*message // those of any operation or send, by name
	rules    map[string]*dispatchRule
	count    int // of directives
}

// message is a message with the declaration of its type.
type message struct {
	*model.Message
	decl *decl
	// known is false if its type is not understood; then nothing more can be
	// said about it.
	known bool
}
