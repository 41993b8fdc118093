// Package scaffold has the files that a new project begins with: a contract
// with one event, a handler with a real effect, and what it takes to build,
// test and run them. The rest of the project follows from the contract.
package scaffold

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/idem-go/idem/gen/internal/render"
)

//go:embed project
var project embed.FS

// Options say what project to begin.
type Options struct {
	// Module is the path of its Go module.
	Module string
	// Transports to wire, at least one; the first is the one that go run takes.
	Transports []string
	// Version of the library to require, such as v1.2.3. "" and whatever else
	// is no released version mean the checkout at Replace.
	Version string
	// Replace is the folder of a checkout of the library. It may be empty if
	// Version is released.
	Replace string
}

// Released reports whether a version can be required from a module proxy.
func Released(version string) bool {
	return strings.HasPrefix(version, "v") && !strings.ContainsAny(version, "+()") && version != unreleased
}

// unreleased stands for the version of a checkout.
const unreleased = "v0.0.0"

// view is what the templates see.
type view struct {
	Module, Title, Version, Replace string
	// List, Quoted and Human are the transports as YAML, as Go and as text.
	List, Quoted, Human string
	Last                string
	Postgres, Kafka     bool
	Servers             []server
	Require             string
	KafkaEnv            []string
	Certify             []certificate
}

// certificate is how idemctl certifies a transport.
type certificate struct{ Name, Flags string }

type server struct{ Transport, Variable string }

// Containers reports whether some transport needs a server.
func (v view) Containers() bool { return v.Postgres || v.Kafka }

func newView(o Options) (view, error) {
	v := view{Module: o.Module, Title: title(o.Module), Version: o.Version, KafkaEnv: kafkaEnv()}
	if !Released(o.Version) {
		if o.Replace == "" {
			return v, errors.New("this idemgen is no released version, and the checkout that it was built from is not there: install a release, or run idemgen from a checkout")
		}
		v.Version, v.Replace = unreleased, quoteModFile(o.Replace)
	}
	var quoted []string
	for _, t := range o.Transports {
		quoted = append(quoted, `"`+t+`"`)
		switch t {
		case "kafka":
			v.Certify = append(v.Certify, certificate{t, "-transport kafka -set store=postgres"})
		case "kafkasqlite":
			v.Certify = append(v.Certify, certificate{t, "-transport kafka -set store=sqlite"})
		case "sqlite", "postgres":
			v.Certify = append(v.Certify, certificate{t, "-transport " + t})
		}
		switch t {
		case "postgres":
			v.Postgres = true
			v.Servers = append(v.Servers, server{t, "POSTGRES_DSN"})
		case "kafka":
			v.Postgres, v.Kafka = true, true
			v.Servers = append(v.Servers, server{t, "KAFKA_BROKERS"})
		case "kafkasqlite":
			v.Kafka = true
			v.Servers = append(v.Servers, server{t, "KAFKA_BROKERS"})
		}
	}
	v.List, v.Quoted, v.Human = strings.Join(o.Transports, ", "), strings.Join(quoted, ", "), strings.Join(o.Transports, ", ")
	v.Last = o.Transports[len(o.Transports)-1]
	switch {
	case v.Postgres && v.Kafka:
		v.Require = "postgres,kafka"
	case v.Postgres:
		v.Require = "postgres"
	case v.Kafka:
		v.Require = "kafka"
	}
	return v, nil
}

// title is the last element of the module's path that says something.
func title(module string) string {
	base := path.Base(module)
	if len(base) > 1 && base[0] == 'v' && strings.Trim(base[1:], "0123456789") == "" && path.Dir(module) != "." {
		base = path.Base(path.Dir(module))
	}
	return cmp.Or(strings.Trim(base, "."), "pedidos")
}

// quoteModFile writes a path as go.mod wants it.
func quoteModFile(s string) string {
	if strings.ContainsAny(s, " \t\"'`(),") || strings.Contains(s, "//") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// kafkaEnv configures a broker of one node.
func kafkaEnv() []string {
	return []string{
		"KAFKA_PROCESS_ROLES: broker,controller",
		"KAFKA_NODE_ID: 1",
		"KAFKA_LISTENERS: PLAINTEXT://:19092,CONTROLLER://:9093",
		"KAFKA_ADVERTISED_LISTENERS: PLAINTEXT://127.0.0.1:19092",
		"KAFKA_CONTROLLER_QUORUM_VOTERS: 1@localhost:9093",
		"KAFKA_CONTROLLER_LISTENER_NAMES: CONTROLLER",
		"KAFKA_INTER_BROKER_LISTENER_NAME: PLAINTEXT",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		`KAFKA_AUTO_CREATE_TOPICS_ENABLE: "false"`,
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: 1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: 1",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: 0",
	}
}

// Files returns what a project begins with, sorted by path. All of it is the
// user's. The code that follows from the contract is not among it: generate
// that next.
func Files(o Options) ([]render.File, error) {
	v, err := newView(o)
	if err != nil {
		return nil, err
	}
	t, err := template.New("").Delims("[[", "]]").ParseFS(project, "project/*.tmpl")
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(project, "project")
	if err != nil {
		return nil, err
	}
	var out []render.File
	for _, e := range entries {
		target := targetOf(e.Name())
		if target == "compose.yaml" && !v.Containers() {
			continue
		}
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, e.Name(), v); err != nil {
			return nil, err
		}
		body := b.Bytes()
		if path.Ext(target) == ".go" {
			if body, err = format.Source(body); err != nil {
				return nil, fmt.Errorf("%s: %w", target, err)
			}
		}
		out = append(out, render.File{Path: target, Body: body, Owner: render.User})
	}
	slices.SortFunc(out, func(a, b render.File) int { return cmp.Compare(a.Path, b.Path) })
	return out, nil
}

// Compose returns the compose.yaml of a project on the transports; ok is false
// if they need no servers.
func Compose(transports []string) (f render.File, ok bool, err error) {
	files, err := Files(Options{Module: "project", Transports: transports, Version: "v1.0.0"})
	if i := slices.IndexFunc(files, func(f render.File) bool { return f.Path == "compose.yaml" }); i >= 0 {
		return files[i], true, nil
	}
	return f, false, err
}

// targetOf is where a template goes.
func targetOf(name string) string {
	name = strings.TrimSuffix(name, ".tmpl")
	switch {
	case name == "dot_github_workflows_ci.yml":
		return ".github/workflows/ci.yml"
	case strings.HasPrefix(name, "dot_"):
		return "." + strings.TrimPrefix(name, "dot_")
	case strings.HasPrefix(name, "handlers_"):
		return "handlers/" + strings.TrimPrefix(name, "handlers_")
	}
	return name
}
