// Command idemgen makes typed, tested and wired handlers of an AsyncAPI
// contract. Run idemgen help for its verbs.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// What idemgen exits with.
const (
	exitOK    = 0
	exitWrong = 1 // the contract or the tree
	exitUsage = 2 // or I/O
)

// verb is one of idemgen's commands.
type verb struct {
	name    string
	args    string // after the name, for the usage
	summary string
	run     func(c *call) int
}

func verbs() []verb {
	return []verb{
		{"init", "DIR", "begin a project that runs", initProject},
		{"generate", "", "write the files that follow from the contract", generate},
		{"check", "", "show what generate would change, as a diff, and change nothing", check},
		{"lint", "", "show every problem of the contract and of your code", lint},
		{"docs", "", "write the documentation of the contract, Markdown and HTML", docs},
		{"export", "", "print the AsyncAPI document of a contract that is written in Go", export},
		{"schema", "x-idempotency|idemgen", "print a JSON Schema for editors", schema},
		{"version", "", "print idemgen's version", version},
	}
}

// call is one call of a verb.
type call struct {
	flags          *flag.FlagSet
	wants          string   // the arguments, as in its usage
	args           []string // of the verb
	stdout, stderr io.Writer
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, name) {
		if len(rest) == 0 {
			usage(stdout)
			return exitOK
		}
		name, rest = rest[0], []string{"-h"} // help VERB
	}
	for _, v := range verbs() {
		if v.name != name {
			continue
		}
		c := &call{flags: flag.NewFlagSet(name, flag.ContinueOnError), wants: v.args, args: rest, stdout: stdout, stderr: stderr}
		c.flags.SetOutput(io.Discard) // errors are told once, in parse
		c.flags.Usage = func() { v.usage(c) }
		return v.run(c)
	}
	fmt.Fprintf(stderr, "idemgen: there is no verb %q\n\n", name)
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "idemgen makes typed, tested and wired handlers of an AsyncAPI contract.\n\nusage: idemgen VERB [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-9s %s\n", v.name, v.summary)
	}
	fmt.Fprint(w, "\nidemgen help VERB shows the flags of one.\nIt exits with 0 if all is well, 1 if the contract or the tree is wrong, 2 on wrong usage or I/O.\n")
}

func (v verb) usage(c *call) {
	w := c.flags.Output()
	fmt.Fprintf(w, "usage: %s\n\n%s\n", strings.TrimSpace("idemgen "+v.name+" [flags] "+v.args), v.summary)
	first := true
	c.flags.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprintln(w)
			first = false
		}
		value, text := flag.UnquoteUsage(f)
		fmt.Fprintf(w, "  %-28s %s\n", strings.TrimSpace("-"+f.Name+" "+value), text)
	})
}

// parse reads flags, which may stand before and after other arguments, and
// wants so many of those. If it returns false the verb is done.
func (c *call) parse(positional int) (exit int, ok bool) {
	var rest []string
	for args := c.args; ; {
		err := c.flags.Parse(args)
		switch {
		case errors.Is(err, flag.ErrHelp):
			c.flags.SetOutput(c.stdout)
			c.flags.Usage()
			return exitOK, false
		case err != nil:
			return c.misused(err), false
		case c.flags.NArg() == 0:
			c.args = rest
			if len(rest) != positional {
				return c.misused(fmt.Errorf("want %s, got %d", cmp.Or(c.wants, "no arguments"), len(rest))), false
			}
			return exitOK, true
		}
		rest = append(rest, c.flags.Arg(0))
		args = c.flags.Args()[1:]
	}
}

func (c *call) misused(err error) int {
	fmt.Fprintf(c.stderr, "idemgen %s: %v\nidemgen help %[1]s shows how to use it\n", c.flags.Name(), err)
	return exitUsage
}

func (c *call) failed(err error) int {
	fmt.Fprintf(c.stderr, "idemgen %s: %v\n", c.flags.Name(), err)
	return exitUsage
}
