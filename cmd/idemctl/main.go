// Command idemctl works on a running system: its broker, its database, what is
// in them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/idem-go/idem/conformance/crash"
	"github.com/idem-go/idem/framework/config"
	"github.com/idem-go/idem/framework/idem"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // what was asked for does not hold
	exitUsage  = 2 // wrong usage, or a server or file that cannot be reached
)

func main() {
	if code, isChild := crash.Child(os.Stdout, os.Stderr); isChild {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// verb is one thing that idemctl can do.
type verb struct {
	name, args, summary string
	run                 func(c *call) int
}

func verbs() []verb {
	return []verb{
		{"certify", "", "kill processes on your broker and database, and certify that nothing was lost or doubled", certify},
	}
}

// call is one call of a verb.
type call struct {
	ctx            context.Context
	flags          *flag.FlagSet
	args           []string
	stdout, stderr io.Writer
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
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
		name, rest = rest[0], []string{"-h"}
	}
	for _, v := range verbs() {
		if v.name == name {
			c := &call{ctx: ctx, flags: flag.NewFlagSet(name, flag.ContinueOnError), args: rest, stdout: stdout, stderr: stderr}
			c.flags.SetOutput(stderr)
			c.flags.Usage = func() {
				fmt.Fprintf(c.flags.Output(), "usage: %s\n\n%s\n\n", strings.TrimSpace("idemctl "+v.name+" [flags] "+v.args), v.summary)
				c.flags.PrintDefaults()
			}
			return v.run(c)
		}
	}
	fmt.Fprintf(stderr, "idemctl: there is no verb %q\n\n", name)
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "idemctl works on a running system.\n\nusage: idemctl VERB [flags]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(w, "  %-9s %s\n", v.name, v.summary)
	}
	fmt.Fprint(w, "\nidemctl help VERB shows the flags of one.\nIt exits with 0 if all is well, 1 if what was asked for does not hold, 2 on wrong usage or I/O.\n")
}

// parse reads the verb's flags and, from -config, the environment and -set, the
// configuration. If it returns false the verb is done.
func (c *call) parse() (cfg idem.Config, code int, ok bool) {
	set := config.Bind(c.flags)
	err := c.flags.Parse(c.args) // which tells what is wrong
	switch {
	case errors.Is(err, flag.ErrHelp):
		return cfg, exitOK, false
	case err != nil:
		return cfg, exitUsage, false
	case c.flags.NArg() > 0:
		return cfg, c.failed(fmt.Errorf("want no arguments, got %q", c.flags.Arg(0))), false
	}
	if cfg, err = config.Load(set.Source()); err != nil {
		return cfg, c.failed(err), false
	}
	return cfg, exitOK, true
}

func (c *call) failed(err error) int {
	fmt.Fprintf(c.stderr, "idemctl %s: %v\n", c.flags.Name(), err)
	return exitUsage
}
