package gen

import (
	"github.com/idem-go/idem/gen/internal/asyncapi"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/model"
	"github.com/idem-go/idem/gen/internal/settings"
)

// contract reads the contract. If something is wrong, it is reported, and the
// contract is nil or incomplete.
func (p *project) contract(s *settings.Settings) *model.Contract {
	if s.Go != "" {
		return gosrc.Load(p.root.FS(), s.Go, p.problems, gosrc.Options{
			MessageHeader: s.MessageHeader, AcceptUnknownEnum: s.AcceptUnknownEnum, Defaults: s.Defaults,
		})
	}
	return asyncapi.Load(p.set, p.problems, s.Contract, asyncapi.Options{
		RejectExtraFields: s.RejectExtraFields, AcceptUnknownEnum: s.AcceptUnknownEnum,
		MessageHeader: s.MessageHeader, Defaults: s.Defaults,
	})
}
