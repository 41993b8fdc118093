package render

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// fileName makes on_pedido_criado of OnPedidoCriado and http_erro of HTTPErro.
func fileName(goName string) string {
	var b strings.Builder
	runes := []rune(goName)
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && runes[i-1] != '_' &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// reserved are endings of file names that mean something to the go command.
var reserved = map[string]bool{
	"test": true,
	"aix":  true, "android": true, "darwin": true, "dragonfly": true, "freebsd": true, "hurd": true, "illumos": true, "ios": true, "js": true,
	"linux": true, "nacl": true, "netbsd": true, "openbsd": true, "plan9": true, "solaris": true, "wasip1": true, "windows": true, "zos": true,
	"386": true, "amd64": true, "amd64p32": true, "arm": true, "armbe": true, "arm64": true, "arm64be": true, "loong64": true, "mips": true,
	"mipsle": true, "mips64": true, "mips64le": true, "mips64p32": true, "mips64p32le": true, "ppc": true, "ppc64": true, "ppc64le": true,
	"riscv": true, "riscv64": true, "s390": true, "s390x": true, "sparc": true, "sparc64": true, "wasm": true,
}

// fileNames gives each name a file of its own in the folder of the handlers.
func fileNames(goNames []string) map[string]string {
	taken := map[string]bool{"handlers": true, "schema": true, "world": true, "doc": true}
	for _, device := range []string{"con", "prn", "aux", "nul"} { // Windows has no such files
		taken[device] = true
	}
	for n := range 10 {
		taken[fmt.Sprintf("com%d", n)], taken[fmt.Sprintf("lpt%d", n)] = true, true
	}
	out := map[string]string{}
	for _, name := range goNames {
		file := fileName(name)
		if reserved[file[strings.LastIndexByte(file, '_')+1:]] || strings.HasSuffix(file, "_gen") || taken[file] {
			file += "_handler"
		}
		for base, n := file, 2; taken[file]; n++ {
			file = fmt.Sprintf("%s_%d", base, n)
		}
		taken[file] = true
		out[name] = file
	}
	return out
}

// packageName is the name of the package in a folder.
func packageName(module, folder string) string {
	base := path.Base(folder)
	if folder == "." || folder == "" {
		base = path.Base(module)
	}
	var b strings.Builder
	for _, r := range strings.ToLower(base) {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
		}
	}
	name := b.String()
	if name == "" || keywords[name] {
		return name + "pkg"
	}
	return name
}

var keywords = map[string]bool{
	"break": true, "case": true, "chan": true, "const": true, "continue": true, "default": true, "defer": true, "else": true,
	"fallthrough": true, "for": true, "func": true, "go": true, "goto": true, "if": true, "import": true, "interface": true,
	"map": true, "package": true, "range": true, "return": true, "select": true, "struct": true, "switch": true, "type": true, "var": true,
	"main": true, "init": true,
}

// inUse are names that generated and skeleton files give to other packages and
// to variables.
var inUse = map[string]bool{
	"bytes": true, "cmp": true, "context": true, "errors": true, "flag": true, "fmt": true, "io": true, "json": true, "os": true, "signal": true, "slog": true,
	"strings": true, "syscall": true, "testing": true, "time": true, "message": true, "watermill": true,
	"config": true, "contract": true, "idem": true, "idemsql": true, "idemtest": true, "middleware": true, "wire": true, "wiring": true,
	"sqlite": true, "postgres": true, "kafka": true, "kafkasqlite": true, "memory": true,
	"ctx": true, "cfg": true, "db": true, "h": true, "m": true, "msg": true, "n": true, "o": true, "p": true, "r": true, "t": true, "w": true, "err": true,
	"len": true, "string": true, "error": true, "any": true, "new": true, "append": true, "byte": true, "int": true, "nil": true, "true": true, "false": true,
}

// importName is the name under which files import a package of the project.
func importName(pkg, suffix string) string {
	if inUse[pkg] {
		return pkg + suffix
	}
	return pkg
}
