package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/idem-go/idem/gen"
)

func initProject(c *call) int {
	o := gen.InitOptions{Version: buildVersion()}
	c.flags.StringVar(&o.Module, "module", "", "import `PATH` of the project's Go module; the name of the folder by default")
	transports := c.flags.String("transports", "sqlite,postgres,kafka", "`LIST` of transports to wire, separated by commas; the first is the one that go run takes")
	bare := c.flags.Bool("bare", false, "write files only: do not resolve the module's dependencies and do not run Wire")
	if exit, ok := c.parse(1); !ok {
		return exit
	}
	o.Dir = c.args[0]
	for _, t := range strings.Split(*transports, ",") {
		o.Transports = append(o.Transports, strings.TrimSpace(t))
	}
	files, err := gen.Init(o)
	if err != nil {
		return c.failed(err)
	}
	for _, f := range files {
		fmt.Fprintln(c.stdout, "A", f)
	}
	if !*bare {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		if err := gen.Prepare(ctx, o, c.stdout); err != nil {
			return c.failed(err)
		}
	}
	fmt.Fprintf(c.stdout, "\nNow:\n  cd %s\n  go run .\n", o.Dir)
	return exitOK
}
