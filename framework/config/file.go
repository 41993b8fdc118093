package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// file reads the file; false means that its content is not known.
func (l *loader) file(path string) bool {
	name := path
	if name == "" {
		name = DefaultPath
	}
	l.origins[""] = Place{Source: name}
	data, err := read(name)
	switch {
	case path == "" && errors.Is(err, fs.ErrNotExist):
		l.origins[""] = Place{Source: "configuration"}
		return true
	case errors.Is(err, fs.ErrNotExist):
		l.problems = append(l.problems, Problem{Place: Place{Source: name}, Message: "does not exist", err: err})
		return false
	case err != nil:
		l.problems = append(l.problems, Problem{Place: Place{Source: name}, Message: "cannot be read: " + cause(err), err: err})
		return false
	}
	body, problems := parse(data, name)
	l.problems = append(l.problems, problems...)
	if body != nil {
		l.document(body, name)
	}
	return len(problems) == 0
}

func read(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// cause leaves out the file's name, which the problem has already.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
