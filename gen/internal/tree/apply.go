package tree

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/idem-go/idem/gen/internal/lock"
)

// Lock adds the lock to the plan, with the operations and the plan's files in
// it; name is that of its file.
func (p *Plan) Lock(name string, operations map[string]lock.Operation) error {
	old, mode, err := p.read(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if old == nil {
		mode = 0o644
	}
	p.next = &lock.Lock{Operations: operations, Files: p.Files, User: p.User}
	if body := p.next.Bytes(); !bytes.Equal(old, body) {
		p.lock = &change{path: name, old: old, new: body, mode: mode}
	}
	return nil
}

// Empty reports whether there is nothing to do.
func (p *Plan) Empty() bool { return len(p.changes) == 0 && p.lock == nil }

// Changes returns the paths that change, with a letter: A to add, M to
// modify, D to delete.
func (p *Plan) Changes() []string {
	all := slices.Clone(p.changes)
	if p.lock != nil {
		all = append(all, *p.lock)
	}
	var out []string
	for _, c := range all {
		switch {
		case c.old == nil:
			out = append(out, "A "+c.path)
		case c.new == nil:
			out = append(out, "D "+c.path)
		default:
			out = append(out, "M "+c.path)
		}
	}
	return out
}

// Apply changes the tree. Each file is either the old or the new one at any
// moment. A run that is killed halfway is mended by the next: the lock is
// written first, and names what is to be deleted until it is.
func (p *Plan) Apply() error {
	p.sweep()
	for _, step := range p.steps() {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// steps are what Apply does, in order.
func (p *Plan) steps() []func() error {
	var writes, deletes []func() error
	for _, c := range p.changes {
		if c.new != nil {
			writes = append(writes, func() error { return p.write(c) })
		} else {
			deletes = append(deletes, func() error { return p.delete(c.path) })
		}
	}
	slices.Reverse(deletes) // wire_gen.go before wire.go, by which it is found
	if p.lock == nil {
		return append(writes, deletes...)
	}
	lockFirst := func() error { return p.write(p.interim()) }
	all := slices.Concat([]func() error{lockFirst}, writes, deletes)
	if len(deletes) > 0 {
		all = append(all, func() error { return p.write(*p.lock) })
	}
	return all
}

// interim is the lock as it is until everything is done: it has the files that
// are deleted in the end.
func (p *Plan) interim() change {
	c := *p.lock
	var gone []string
	for _, f := range p.changes {
		if f.new == nil && Owned(f.old) {
			gone = append(gone, f.path)
		}
	}
	if len(gone) == 0 {
		return c
	}
	next := *p.next
	next.Files = slices.Concat(next.Files, gone)
	slices.Sort(next.Files)
	c.new = next.Bytes()
	return c
}

func (p *Plan) delete(name string) error {
	if err := p.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir := path.Dir(name); dir != "." {
		_ = p.root.Remove(dir) // works only if it is empty now
	}
	return nil
}

const (
	tempPrefix = ".idemgen-"
	tempSuffix = ".tmp"
)

// write replaces a file in one step.
func (p *Plan) write(c change) (err error) {
	dir := path.Dir(c.path)
	if err := p.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	temp := path.Join(dir, tempPrefix+hex.EncodeToString(random[:])+tempSuffix)
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = p.root.Remove(temp)
		}
	}()
	if _, err := f.Write(c.new); err != nil {
		return err
	}
	if c.old != nil { // the mode of a new file is the umask's business
		if err := f.Chmod(c.mode); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return p.root.Rename(temp, c.path)
}

// tempAge is when a temporary file is one that a killed run has left.
const tempAge = time.Minute

// sweep removes temporary files of killed runs from the folders that change.
func (p *Plan) sweep() {
	seen := map[string]bool{}
	for _, c := range p.changes {
		dir := path.Dir(c.path)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		entries, err := fs.ReadDir(p.root.FS(), dir)
		if err != nil {
			continue // it may not be there yet
		}
		for _, e := range entries {
			if !isTemp(e.Name()) || !e.Type().IsRegular() {
				continue
			}
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > tempAge {
				_ = p.root.Remove(path.Join(dir, e.Name()))
			}
		}
	}
}

func isTemp(name string) bool {
	middle, ok := strings.CutPrefix(name, tempPrefix)
	middle, ok2 := strings.CutSuffix(middle, tempSuffix)
	_, err := hex.DecodeString(middle)
	return ok && ok2 && len(middle) == 16 && err == nil
}
