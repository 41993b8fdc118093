package scaffold

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// library is the module that projects require.
const library = "github.com/idem-go/idem"

// Commands are what makes a project build once its code is generated.
func Commands() [][]string {
	return [][]string{
		{"go", "mod", "tidy"},
		{"go", "tool", "wire", "gen", "./wiring/..."},
	}
}

// Prepare runs the commands in a project's folder and shows them on out. With
// a checkout of the library at replace ("" is none) nothing is asked of the
// network that the module cache knows: the project begins with its go.sum.
func Prepare(ctx context.Context, dir, replace string, out io.Writer) error {
	if replace != "" {
		sums := filepath.Join(dir, "go.sum")
		if _, err := os.Stat(sums); os.IsNotExist(err) {
			text, err := os.ReadFile(filepath.Join(replace, "go.sum"))
			if err == nil {
				err = os.WriteFile(sums, text, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, c := range Commands() {
		line := strings.Join(c, " ")
		fmt.Fprintln(out, "$", line)
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, c[0], c[1:]...) //nolint:gosec // the commands are those above
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.Discard, &stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s in %s: %w\n%s", line, dir, err, strings.TrimSpace(stderr.String()))
		}
	}
	return nil
}

// Checkout returns the folder of the library's source that this program was
// built from, "" if that is not there (any more).
func Checkout() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "" // built with -trimpath
	}
	root := filepath.Join(filepath.Dir(file), "..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module "+library+"\n") {
		return ""
	}
	return root
}
