package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/idem-go/idem/gen/internal/diag"
)

var moduleLine = regexp.MustCompile(`(?m)^\s*module\s+("[^"\n]+"|` + "`[^`\n]+`" + `|[^\s/"` + "`" + `][^\s]*)\s*(?://.*)?$`)

// ImportPath returns the import path of the folder dir: the path of the Go
// module that it is in, and of the folder in the module. It reports to
// problems and returns "" if there is none.
func ImportPath(dir string, problems *diag.List) string {
	found, err := importPath(dir)
	if err != nil {
		problems.Addf(diag.NoModule, diag.Pos{File: "go.mod"}, "run go mod init in the project's folder", "%s", err)
	}
	return found
}

func importPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	for at, below := dir, ""; ; {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		switch {
		case err == nil:
			m := moduleLine.FindSubmatch(text)
			if m == nil {
				return "", fmt.Errorf("%s has no module line", filepath.Join(at, "go.mod"))
			}
			return path.Join(strings.Trim(string(m[1]), "\"`"), below), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("cannot read go.mod: %s", reason(err))
		}
		up := filepath.Dir(at)
		if up == at {
			return "", fmt.Errorf("neither the project's folder nor one above it has a go.mod")
		}
		at, below = up, path.Join(filepath.Base(at), below)
	}
}
