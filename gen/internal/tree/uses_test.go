package tree

import (
	"strings"
	"testing"

	"github.com/idem-go/idem/gen/internal/diag"
)

// generatedToday is a package as it would be generated now.
const generatedToday = goHeader + "package msg\n\ntype PedidoCriado struct{}\n\ntype Faturar interface{}\n\nconst StatusPago = 1\n"

func TestUses(t *testing.T) {
	today := []File{
		{Path: "internal/msg/messages_gen.go", Body: []byte(generatedToday)},
		users("handlers/faturar.go", handlerToday, "faturar"),
		users("main.go", "package main\n", ""),
	}
	using := func(body string) map[string]string {
		return map[string]string{"handlers/x.go": "package handlers\n\nimport \"example.com/m/internal/msg\"\n\n" + body + "\n"}
	}
	for name, tc := range map[string]struct {
		have map[string]string
		want []string
	}{
		"nothing is there":     {nil, nil},
		"what is generated":    {using("var x msg.PedidoCriado = msg.StatusPago"), nil},
		"a type that has gone": {using("func f(p msg.PedidoPago) {}"), []string{"handlers/x.go:5:10: IDEM132: msg.PedidoPago is not generated: nothing in the contract has this name (use what the contract has now, or delete this)"}},
		"twice":                {using("var a msg.A\nvar b msg.B"), []string{"handlers/x.go:5:7: IDEM132: msg.A", "handlers/x.go:6:7: IDEM132: msg.B"}},
		"under another name": {map[string]string{"main.go": "package main\n\nimport pb \"example.com/m/internal/msg\"\n\nvar _ = pb.Gone\n"},
			[]string{"main.go:5:9: IDEM132: pb.Gone"}},
		"declared by the user in the package": {map[string]string{
			"handlers/x.go":        "package handlers\n\nimport \"example.com/m/internal/msg\"\n\nvar _ = msg.Mine\n",
			"internal/msg/mine.go": "package msg\n\nvar Mine = 1\n"}, nil},
		"another package of the name":       {map[string]string{"handlers/x.go": "package handlers\n\nimport \"example.com/other/msg\"\n\nvar _ = msg.Gone\n"}, nil},
		"a variable of the package's name":  {using("func f() { msg := g(); msg.Gone() }"), nil},
		"a parameter of the package's name": {using("func f(msg T) { msg.Gone() }"), nil},
		"a file with our header":            {map[string]string{"handlers/x.go": goHeader + "package handlers\n\nimport \"example.com/m/internal/msg\"\n\nvar _ = msg.Gone\n"}, nil},
		"what Wire has made":                {map[string]string{"main.go": wireHeader + "\n\npackage main\n\nimport \"example.com/m/internal/msg\"\n\nvar _ = msg.Gone\n"}, nil},
		"an old file of ours":               {map[string]string{"internal/msg/messages_gen.go": goHeader + "package msg\n\ntype Gone int\n", "main.go": "package main\n\nimport \"example.com/m/internal/msg\"\n\nvar _ msg.Gone\n"}, []string{"main.go:5:7: IDEM132"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := open(t)
			for name, text := range tc.have {
				put(t, root, name, text)
			}
			problems := &diag.List{}
			Uses(root, "example.com/m", today, problems)
			wantProblems(t, tc.want, strs(problems))
		})
	}
}

func TestProvided(t *testing.T) {
	const head = "package handlers\n\nimport (\n\t\"github.com/google/wire\"\n\n\t\"example.com/m/internal/msg\"\n)\n\n"
	today := []File{
		users("handlers/handlers.go", head+`var Set = wire.NewSet(
	NewFaturar, wire.Bind(new(msg.Faturar), new(*Faturar)),
	NewReservar, wire.Bind(new(msg.Reservar), new(*Reservar)),
)
`, ""),
		users("wiring/sqlite/providers.go", "package sqlite\n", ""),
	}
	for name, tc := range map[string]struct {
		have map[string]string
		want []string
	}{
		"nothing is there":     {nil, nil},
		"as it was written":    {map[string]string{"handlers/handlers.go": string(today[0].Body)}, nil},
		"a line is missing":    {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet(NewFaturar, wire.Bind(new(msg.Faturar), new(*Faturar)))\n"}, []string{`handlers/handlers.go:9:5: IDEM133: Set does not provide Reservar: Wire cannot build the program (add the line "NewReservar, wire.Bind(new(msg.Reservar), new(*Reservar)),")`}},
		"another constructor":  {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet(NewFaturar, provide)\n\nfunc provide() msg.Reservar { return nil }\n"}, nil},
		"a struct":             {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet(NewFaturar, wire.Struct(new(Reservar), \"*\"))\n"}, nil},
		"a set of sets":        {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet(NewFaturar, more)\n\nvar more = wire.NewSet(NewReservar)\n"}, nil},
		"by the transport":     {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet(NewFaturar)\n", "wiring/sqlite/providers.go": "package sqlite\n\nimport \"github.com/google/wire\"\n\nvar Providers = wire.NewSet(handlers.Set, handlers.NewReservar)\n"}, nil},
		"without Wire":         {map[string]string{"handlers/handlers.go": "package handlers\n\ntype Input struct{}\n"}, nil},
		"something is no Go":   {map[string]string{"handlers/handlers.go": head + "var Set = wire.NewSet()\n\nfunc (\n"}, nil},
		"a NewSet of somebody": {map[string]string{"handlers/handlers.go": "package handlers\n\nimport \"example.com/wire\"\n\nvar Set = wire.NewSet(NewFaturar, NewReservar)\n"}, []string{"IDEM133: Set does not provide Faturar", "IDEM133: Set does not provide Reservar"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := open(t)
			for name, text := range tc.have {
				put(t, root, name, text)
			}
			problems := &diag.List{}
			Provided(root, today, "handlers", problems)
			wantProblems(t, tc.want, strs(problems))
		})
	}
}

func wantProblems(t *testing.T, want, got []string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.Contains(got[i], want[i])
	}
	if !ok {
		t.Errorf("want %s\ngot  %s", strings.Join(want, "\n     "), strings.Join(got, "\n     "))
	}
}
