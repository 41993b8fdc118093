package main

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen"
)

func (c *call) config() *string {
	return c.flags.String("config", "idemgen.yaml", "the project's `FILE`; its folder is the project's root")
}

func generate(c *call) int {
	var o gen.Options
	config := c.config()
	quiet := c.flags.Bool("q", false, "do not list the files that change")
	c.flags.Func("forget-previous", "no longer look up former key recipes of an `OPERATION`; may be repeated", func(id string) error {
		o.ForgetPrevious = append(o.ForgetPrevious, id)
		return nil
	})
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	o.Config = *config
	return c.writing(*quiet, func() (*gen.Report, error) { return gen.Generate(o) })
}

func docs(c *call) int {
	config := c.config()
	quiet := c.flags.Bool("q", false, "do not list the files that change")
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	return c.writing(*quiet, func() (*gen.Report, error) { return gen.Docs(gen.Options{Config: *config}) })
}

// writing reports what a verb that writes has done.
func (c *call) writing(quiet bool, do func() (*gen.Report, error)) int {
	report, err := do()
	if err != nil {
		return c.failed(err)
	}
	if !quiet {
		for _, change := range report.Changes {
			fmt.Fprintln(c.stdout, change)
		}
	}
	return c.report(report)
}

// report writes problems and warnings to the standard error.
func (c *call) report(report *gen.Report) int {
	if err := report.Write(c.stderr, "text"); err != nil {
		return c.failed(err)
	}
	if !report.OK() {
		return exitWrong
	}
	return exitOK
}

func check(c *call) int {
	config := c.config()
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	report, err := gen.Check(gen.Options{Config: *config})
	if err != nil {
		return c.failed(err)
	}
	if _, err := c.stdout.Write(report.Diff); err != nil {
		return c.failed(err)
	}
	if len(report.Diff) > 0 {
		fmt.Fprintf(c.stderr, "idemgen check: %d files are not what idemgen generate would write\n", len(report.Changes))
	}
	return c.report(report)
}

func lint(c *call) int {
	config := c.config()
	format := c.flags.String("format", "text", "`FORMAT` of the problems: "+strings.Join(gen.Formats(), ", "))
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	if !slices.Contains(gen.Formats(), *format) {
		return c.misused(fmt.Errorf("there is no format %q: there are %s", *format, strings.Join(gen.Formats(), ", ")))
	}
	report, err := gen.Lint(gen.Options{Config: *config})
	if err != nil {
		return c.failed(err)
	}
	if err := report.Write(c.stdout, *format); err != nil {
		return c.failed(err)
	}
	if !report.OK() {
		return exitWrong
	}
	return exitOK
}

func export(c *call) int {
	config := c.config()
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	text, report, err := gen.Export(gen.Options{Config: *config})
	if err != nil {
		return c.failed(err)
	}
	if _, err := c.stdout.Write(text); err != nil {
		return c.failed(err)
	}
	return c.report(report)
}

func schema(c *call) int {
	if exit, ok := c.parse(1); !ok {
		return exit
	}
	text, err := gen.Schema(c.args[0])
	if err != nil {
		return c.misused(err)
	}
	if _, err := c.stdout.Write(text); err != nil {
		return c.failed(err)
	}
	return exitOK
}

func version(c *call) int {
	if exit, ok := c.parse(0); !ok {
		return exit
	}
	fmt.Fprintln(c.stdout, "idemgen", buildVersion())
	return exitOK
}

// buildVersion is the version of the module that idemgen was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
