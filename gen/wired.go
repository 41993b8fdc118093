package gen

import (
	"fmt"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/render"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/source"
)

// unwired warns of an idem.yaml that chooses a transport which no program is
// built for. The file is the user's; what else is in it is the library's to
// check when it starts.
func (p *project) unwired(s *settings.Settings) {
	const name = "idem.yaml"
	if _, err := p.root.Stat(name); err != nil {
		return
	}
	file := source.NewSet(p.root.FS(), &diag.List{}).Load(name, diag.Pos{File: name})
	if file == nil || file.Root.Kind != source.Map {
		return
	}
	queue, store := file.Root.Get("transport"), file.Root.Get("store")
	if queue == nil || queue.Kind != source.String || strings.Contains(queue.Text, "$") {
		return
	}
	chosen := ""
	if store != nil && !strings.Contains(store.Text, "$") {
		chosen = store.Text
	}
	if render.Wired(s.Transports, queue.Text, chosen) {
		return
	}
	what := "transport " + queue.Text
	if chosen != "" {
		what += " with store " + chosen
	}
	p.warnings.Addf(diag.NotWired, queue.Pos,
		fmt.Sprintf("choose one of %s, with its section, or add it to transports in %s", strings.Join(s.Transports, ", "), p.config),
		"%s is not wired: the program would not start", what)
}
