package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/idem-go/idem/gen/internal/diag"
)

// The limits of what is read. A contract beyond them is not one that people
// wrote.
const (
	maxFileBytes  = 2 << 20
	maxTotalBytes = 4 << 20
	maxFiles      = 500
	maxDepth      = 64
	maxNodes      = 400_000
	maxPathBytes  = 64 << 20 // of Node.Path together: long names above many values
)

// Set reads files below a root folder, each once.
type Set struct {
	root     fs.FS
	problems *diag.List
	files    map[string]*File // nil: could not be read, and that was reported
	derefs   map[*Node]*Node  // what reference objects stand for; nil: that was reported
	bytes    int
	nodes    int
	paths    int // bytes
}

// NewSet returns an empty set that reports to problems.
func NewSet(root fs.FS, problems *diag.List) *Set {
	return &Set{root: root, problems: problems, files: map[string]*File{}, derefs: map[*Node]*Node{}}
}

// Load reads the file with the given name, relative to the root; from is the
// place that asks for it. It returns nil after reporting why.
func (s *Set) Load(name string, from diag.Pos) *File {
	if f, ok := s.files[name]; ok {
		return f
	}
	f := s.read(name, from)
	s.files[name] = f
	return f
}

func (s *Set) read(name string, from diag.Pos) *File {
	if len(s.files) >= maxFiles {
		s.problems.Addf(diag.TooBig, from, "", "the contract has more than %d files", maxFiles)
		return nil
	}
	text, err := s.contents(name)
	switch {
	case errors.Is(err, errTooBig):
		s.problems.Addf(diag.TooBig, diag.Pos{File: name}, "split it, or leave out examples", "the file has more than %d bytes", maxFileBytes)
		return nil
	case err != nil && escapes(err):
		s.problems.Addf(diag.RefOutside, from, "copy what is needed below the root folder", "%q is a symbolic link out of the root folder", clip(name))
		return nil
	case err != nil:
		s.problems.Addf(diag.Unreadable, from, "", "cannot read %q: %s", clip(name), reason(err))
		return nil
	}
	if s.bytes += len(text); s.bytes > maxTotalBytes {
		s.problems.Addf(diag.TooBig, from, "", "the contract's files have more than %d bytes together", maxTotalBytes)
		return nil
	}
	if text = bytes.TrimPrefix(text, []byte("\ufeff")); !utf8.Valid(text) {
		s.problems.Addf(diag.Syntax, diag.Pos{File: name}, "save it as UTF-8", "the file is not UTF-8 text")
		return nil
	}
	f := &File{Name: name, Lines: strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
	b := &builder{set: s, file: f}
	if path.Ext(name) == ".json" {
		f.Root = b.json(text)
	} else {
		f.Root = b.yaml(text)
	}
	if f.Root == nil {
		return nil
	}
	return f
}

var errTooBig = errors.New("too big")

func (s *Set) contents(name string) ([]byte, error) {
	info, err := fs.Stat(s.root, name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case !info.Mode().IsRegular(): // a pipe would keep us waiting
		return nil, errors.New("it is not a regular file")
	case info.Size() > maxFileBytes:
		return nil, errTooBig
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if len(text) > maxFileBytes {
		return nil, errTooBig
	}
	return text, err
}

// escapes reports whether os.Root has refused to leave its folder; its error
// has no name.
func escapes(err error) bool { return strings.Contains(err.Error(), "path escapes") }

// reason is an error without the path that is in the message anyway.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	return err.Error()
}

// Lines returns the lines of a file that was read, or nil.
func (s *Set) Lines(name string) []string {
	if f := s.files[name]; f != nil {
		return f.Lines
	}
	return nil
}

// Deref follows n as long as it is a reference object, and returns the node
// that it stands for, or nil after reporting what is wrong. A node without
// $ref is returned as it is.
func (s *Set) Deref(n *Node) *Node {
	var chain []*Node
	end := n
	seen := map[*Node]bool{}
	for end != nil && end.Field("$ref") != nil {
		if known, ok := s.derefs[end]; ok {
			end = known
			break
		}
		if seen[end] {
			ref := n.Get("$ref")
			s.problems.Addf(diag.RefLoop, ref.Pos, "let one of them be the definition itself", "$ref %q leads back to itself", clip(ref.Text))
			end = nil
			break
		}
		seen[end] = true
		chain = append(chain, end)
		end = s.Target(end.Get("$ref"))
	}
	for _, link := range chain { // also of a circle, which is reported once
		s.derefs[link] = end
	}
	return end
}

// Target returns the node that the value of a $ref points to, or nil after
// reporting why there is none. It follows one step only.
func (s *Set) Target(ref *Node) *Node {
	if ref.Kind != String {
		s.problems.Addf(diag.BadRef, ref.Pos, "", "$ref must be a string, is %s", ref.Kind)
		return nil
	}
	file, pointer, _ := strings.Cut(ref.Text, "#")
	f := ref.File
	if file != "" {
		name, err := local(path.Dir(ref.File.Name), file)
		if err != nil {
			s.problems.Addf(diag.RefOutside, ref.Pos, "copy what is needed below the root folder", "$ref %q %s", clip(ref.Text), err)
			return nil
		}
		if f = s.Load(name, ref.Pos); f == nil {
			return nil
		}
	}
	n, ok := f.Root.at(unescapeURI(pointer))
	if !ok {
		s.problems.Addf(diag.BadRef, ref.Pos, "", "$ref %q points to nothing", clip(ref.Text))
		return nil
	}
	return n
}

// local resolves the file part of a reference found in folder dir.
func local(dir, file string) (string, error) {
	if strings.Contains(file, "://") {
		return "", errors.New("is not a local file")
	}
	file = unescapeURI(file)
	if path.IsAbs(file) || strings.ContainsAny(file, "\\\x00") || strings.Contains(file, ":") {
		return "", errors.New("must be relative, with slashes")
	}
	name := path.Join(dir, file)
	if !fs.ValidPath(name) {
		return "", errors.New("is outside the root folder")
	}
	return name, nil
}

// unescapeURI undoes percent-encoding; what is no such encoding stays.
func unescapeURI(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
