package main

import (
	"fmt"
	"path/filepath"

	"github.com/idem-go/idem/conformance/crash"
	"github.com/idem-go/idem/conformance/report"
	"github.com/idem-go/idem/framework/idem"
)

func certify(c *call) int {
	out := c.flags.String("out", "certificate", "`FOLDER` to write the certificate to")
	kills := c.flags.Int("kills", 200, "about `how many` processes to kill")
	mode := c.flags.String("transaction", string(idem.TransactionOwn), "`MODE` of the handlers' transactions: own or group")
	quiet := c.flags.Bool("q", false, "do not tell what is being done")
	cfg, code, ok := c.parse()
	switch {
	case !ok:
		return code
	case *kills < 1:
		return c.failed(fmt.Errorf("-kills must be at least 1, is %d", *kills))
	case *mode != string(idem.TransactionOwn) && *mode != string(idem.TransactionGroup):
		return c.failed(fmt.Errorf("-transaction must be own or group, is %q", *mode))
	}
	o := crash.Options{Config: cfg, Kills: *kills, Transaction: idem.TransactionMode(*mode)}
	if !*quiet {
		o.Progress = func(line string) { fmt.Fprintln(c.stderr, line) }
	}
	found, err := crash.Run(c.ctx, o)
	if err != nil {
		return c.failed(err)
	}
	r := report.Report{Crash: []report.Crash{found}}
	if err := r.Save(*out); err != nil {
		return c.failed(err)
	}
	fmt.Fprintln(c.stdout, "wrote", filepath.Join(*out, "CERTIFICATE.md"))
	problems := report.Merge(r).Problems()
	for _, p := range problems {
		fmt.Fprintln(c.stderr, p)
	}
	if len(problems) > 0 {
		return exitFailed
	}
	return exitOK
}
