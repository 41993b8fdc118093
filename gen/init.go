package gen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/lock"
	"github.com/idem-go/idem/gen/internal/scaffold"
	"github.com/idem-go/idem/gen/internal/settings"
	"github.com/idem-go/idem/gen/internal/tree"
)

// InitOptions say what project to begin.
type InitOptions struct {
	// Dir is the folder of the project. It is made if it is not there, and must
	// be empty otherwise, but for hidden files such as .git.
	Dir string
	// Module is the import path of its Go module; "" means the folder's name.
	Module string
	// Transports to wire, each once, at least one; the first is the one that
	// go run takes.
	Transports []string
	// Version of the library to require: that of the idemgen that runs. If it
	// is no released one, the project uses the checkout that idemgen is from.
	Version string
}

// Init begins a project and generates its files, and returns those that it has
// written, relative to the folder. It builds and runs after Prepare. The error
// is one of usage or I/O.
func Init(o InitOptions) ([]string, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	rendered, err := scaffold.Files(scaffold.Options{Module: o.Module, Transports: o.Transports, Version: o.Version, Replace: o.checkout()})
	if err != nil {
		return nil, err
	}
	return begin(o.Dir, treeFiles(rendered))
}

// Prepare does what needs the go command: it resolves the dependencies of a
// project that Init has begun, and runs Wire. It shows the commands on out,
// and ends them when the context is cancelled.
func Prepare(ctx context.Context, o InitOptions, out io.Writer) error {
	if err := scaffold.Prepare(ctx, o.Dir, o.checkout(), out); err != nil {
		return fmt.Errorf("the project is written, but does not build yet: %w", err)
	}
	return nil
}

// checkout is the folder of the library's source that the project uses, "" if
// it uses a released version.
func (o *InitOptions) checkout() string {
	if scaffold.Released(o.Version) {
		return ""
	}
	return scaffold.Checkout()
}

// begin writes the first files of a project, and what follows from them.
func begin(dir string, files []tree.File) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			return nil, fmt.Errorf("%s is not empty: it has %s; choose another folder", dir, e.Name())
		}
	}
	problems := &diag.List{}
	plan, err := tree.Compare(root, files, &lock.Lock{}, problems, problems)
	if err != nil {
		return nil, err
	}
	if all := problems.Sorted(); len(all) > 0 {
		return nil, errors.New(all[0].String())
	}
	if err := plan.Apply(); err != nil {
		return nil, err
	}
	report, err := Generate(Options{Config: filepath.Join(dir, settings.FileName)})
	if err != nil {
		return nil, err
	}
	if len(report.Problems) > 0 {
		return nil, fmt.Errorf("this is a defect of idemgen: %s", report.Problems[0])
	}
	return written(plan.Changes(), report.Changes), nil
}

// modulePath is an import path that the go command takes for a module.
var modulePath = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

// check completes the options and tells what is wrong with them.
func (o *InitOptions) check() error {
	if o.Module == "" {
		abs, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		o.Module = filepath.Base(abs)
	}
	if !modulePath.MatchString(o.Module) {
		return fmt.Errorf("%q cannot be the path of a Go module: say with -module what it is", o.Module)
	}
	if len(o.Transports) == 0 {
		return errors.New("there must be a transport")
	}
	for i, t := range o.Transports {
		if all := settings.Transports(); !slices.Contains(all, t) {
			return fmt.Errorf("there is no transport %q (%s)", t, diag.Suggest(t, all))
		}
		if slices.Contains(o.Transports[:i], t) {
			return fmt.Errorf("transport %q is listed twice", t)
		}
	}
	return nil
}

// written lists the files of several plans, each once.
func written(changes ...[]string) []string {
	var out []string
	for _, c := range slices.Concat(changes...) {
		_, name, _ := strings.Cut(c, " ")
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
