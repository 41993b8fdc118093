package gen

import (
	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
)

// Export returns the AsyncAPI document of a contract that is written in Go,
// nil if something is wrong with it. The error is one of usage or I/O.
func Export(o Options) ([]byte, *Report, error) {
	var text []byte
	report, err := run(o, func(p *project) error {
		s, c := p.load()
		if s.Go == "" && s.Contract != "" {
			p.problems.Addf(diag.SettingsClash, s.Pos("contract"), "say with go: in which folder the Go package is",
				"the contract is an AsyncAPI document already")
			return nil
		}
		if c == nil {
			return nil
		}
		text = gosrc.Export(c)
		return nil
	})
	return text, report, err
}
