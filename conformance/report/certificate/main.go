// Command certificate merges the reports of conformance runs and writes them as
// CERTIFICATE.md, certificate.html and certificate.json.
//
//	IDEM_CONFORMANCE_REPORT=$PWD/reports go test ./...
//	go run github.com/idem-go/idem/conformance/report/certificate -in reports -out .
//
// It ends with exit code 1 when something that ran did not hold; the certificate, which
// says so, is written nevertheless.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/idem-go/idem/conformance/report"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("certificate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	in := flags.String("in", "", "`folder` of the reports that runs wrote ("+report.Env+")")
	out := flags.String("out", ".", "`folder` to write the certificate to")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *in == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "use: certificate -in FOLDER [-out FOLDER]")
		return 2
	}
	r, err := report.Read(*in)
	if err == nil {
		err = r.Save(*out)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, "wrote", filepath.Join(*out, "CERTIFICATE.md"))
	problems := r.Problems()
	for _, p := range problems {
		fmt.Fprintln(stderr, p)
	}
	if len(problems) > 0 {
		return 1
	}
	return 0
}
