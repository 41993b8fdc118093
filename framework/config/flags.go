package config

import (
	"flag"
	"os"
)

// Flags are the flags of a program that chooses its configuration with them.
type Flags struct {
	fs     *flag.FlagSet
	source Source
}

// Bind adds the flags -config, -set (repeatable) and -transport to fs.
func Bind(fs *flag.FlagSet) *Flags {
	f := &Flags{fs: fs}
	fs.StringVar(&f.source.Path, "config", "", "read the configuration from `file` (default "+DefaultPath+" if it exists)")
	fs.Func("set", "set a key of the configuration, as `path=value`; repeatable, and visible to other processes", func(text string) error {
		f.add("-set", text)
		return nil // what is wrong with it is told by Load, without the text: package flag would print it
	})
	f.Key("transport", "transport", "`name` of the transport: sqlite, postgres, kafka or memory")
	return f
}

// Key adds a flag that sets the key at path.
func (f *Flags) Key(name, path, usage string) {
	f.fs.Func(name, usage, func(value string) error {
		f.add("-"+name, path+"="+value)
		return nil
	})
}

func (f *Flags) add(name, text string) {
	f.source.flags = append(f.source.flags, name)
	f.source.Overrides = append(f.source.Overrides, text)
}

// Source returns what the parsed flags say, with the environment of the process.
func (f *Flags) Source() Source {
	src := f.source
	src.Env = os.Environ()
	return src
}
