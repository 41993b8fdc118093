package report

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Environment is where a run took place.
type Environment struct {
	// Idem is the version of idem: a module version, or a git revision with
	// "+dirty" when files had been changed. Empty when nobody knows.
	Idem string `json:"idem,omitempty"`
	// Go is the version of Go.
	Go string `json:"go"`
	// Platform is operating system and architecture: "linux/amd64".
	Platform string `json:"platform"`
	// CPUs is how many the process could use.
	CPUs int `json:"cpus"`
	// Servers are the brokers and databases.
	Servers []Server `json:"servers,omitempty"`
}

// Server is a broker or a database.
type Server struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Note is what else matters: "fsync on", "in the test process".
	Note string `json:"note,omitempty"`
}

// String is name, version and note in one line.
func (s Server) String() string {
	text := s.Name
	if s.Version != "" {
		text += " " + s.Version
	}
	if s.Note != "" {
		text += fmt.Sprintf(" (%s)", s.Note)
	}
	return text
}

const module = "github.com/idem-go/idem"

// EnvRevision names the environment variable that says which version of idem runs,
// where the program does not know: tests of idem itself.
const EnvRevision = "IDEM_CONFORMANCE_REVISION"

// Here is the environment of this process with the servers that it uses.
func Here(servers ...Server) Environment {
	e := Environment{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0), Servers: servers}
	if info, ok := debug.ReadBuildInfo(); ok {
		e.Idem = version(info)
	}
	e.Idem = cmp.Or(e.Idem, os.Getenv(EnvRevision))
	return e
}

// version looks for idem among the modules of a program. In the module itself it
// is what the version control said, which go test is not told.
func version(info *debug.BuildInfo) string {
	for _, dep := range info.Deps {
		if dep.Path != module {
			continue
		}
		if dep.Replace != nil {
			return dep.Version + "+replaced"
		}
		return dep.Version
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if info.Main.Path != module || revision == "" {
		return ""
	}
	if settings["vcs.modified"] == "true" {
		revision += "+dirty"
	}
	return revision
}
