package gosrc_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/gosrc"
	"github.com/idem-go/idem/gen/internal/source"
)

// repeat writes a line n times, with its number for # and the next for @.
func repeat(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("#", fmt.Sprint(i), "@", fmt.Sprint(i+1)).Replace(line))
	}
	return b.String()
}

// A package that nobody wrote is answered soon: within two seconds, or several
// times that with the race detector.
func TestHostilePackagesEndSoon(t *testing.T) {
	const head = "package p\n//idem:operation name=o topic=t\n"
	var doubled strings.Builder
	for i := range 40 {
		fmt.Fprintf(&doubled, "type A%d struct { A%d; B%d }\ntype B%d struct { A%d; B%d }\n", i, i+1, i+1, i, i+1, i+1)
	}
	for name, text := range map[string]string{
		"embedded twice":   head + "type M struct { A0; B0 }\n" + doubled.String() + "type A40 struct{}\ntype B40 struct{}\n",
		"many fields":      head + "type M struct {\n" + repeat(20_000, "F# Undefined#\n") + "}\n",
		"many constants":   head + "type M struct { F E `idem:\"key\"` }\ntype E int\nconst ( Z E = iota\n" + repeat(50_000, "C#\n") + ")\n",
		"many operations":  repeat(15_000, "//idem:operation name=o# topic=t\n"),
		"many messages":    "package p\n" + repeat(1_500, "//idem:operation name=o# topic=t\ntype M# struct { K string `idem:\"key\"`}\n"),
		"deep types":       head + "type M struct { F " + strings.Repeat("[]", 9_000) + "string }\n",
		"deep parentheses": head + "type M struct { F " + strings.Repeat("(", 100_000) + "\n",
		"big constant":     head + "type M struct { F E `idem:\"key\"` }\ntype E int\nconst C E = 1" + strings.Repeat("<<500", 100) + "\n",
		"doubled text":     head + "type M struct { F E `idem:\"key\"` }\ntype E string\nconst C0 E = \"0123456789\"\n" + repeat(60, "const D# = C# + C#\nconst C@ E = D#\n"),
		"chain of types":   head + "type M struct { F T0 `idem:\"key\"` }\n" + repeat(20_000, "type T# T@\n") + "type T20000 string\n",
		"chain of consts":  head + "type M struct { F E `idem:\"key\"` }\ntype E int\n" + repeat(50_000, "const C# = E(C@) + 1\n") + "const C50000 = 1\n",
		"long tag":         head + "type M struct { F string `idem:\"" + strings.Repeat("a,", 200_000) + "\"` }\n",
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var problems diag.List
			gosrc.Load(fstest.MapFS{"p/a.go": {Data: []byte(text)}}, "p", &problems, gosrc.Options{MessageHeader: "name"})
			if took := time.Since(start); took > 60*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// A package beyond the limits is refused as a whole.
func TestTooMuchSource(t *testing.T) {
	big := "package p\n//" + strings.Repeat("x", 900_000) + "\n"
	for name, root := range map[string]fstest.MapFS{
		"file":    {"p/a.go": {Data: []byte(big + big)}},
		"package": {"p/a.go": {Data: []byte(big)}, "p/b.go": {Data: []byte(big)}, "p/c.go": {Data: []byte(big)}, "p/d.go": {Data: []byte(big)}, "p/e.go": {Data: []byte(big)}},
		"folder":  {},
		"utf8":    {"p/a.go": {Data: []byte("package p // \xff")}},
	} {
		var problems diag.List
		if c := gosrc.Load(root, "p", &problems, gosrc.Options{}); c != nil || problems.Len() != 1 {
			t.Errorf("%s: contract %v, problems %v", name, c != nil, problems.Sorted())
		}
	}
}

// Defaults of idemgen.yaml hold where the directive says nothing.
func TestDefaults(t *testing.T) {
	const text = `ttl: 30d
onConflict: discard
retry: {maxAttempts: 7, backoff: {base: 1s, max: 1m, factor: 3}, timeout: null}
breaker: {failures: 2}
dependency: bank
logFields: {id: $message.payload#/id}
fingerprint: [$message.payload#/id]
`
	var problems diag.List
	set := source.NewSet(fstest.MapFS{"d.yaml": {Data: []byte(text)}, "wrong.yaml": {Data: []byte("key: id\nttl: [1]\nretry: {maxAttempt: 1}\n")}}, &problems)
	root := fstest.MapFS{"p/a.go": {Data: []byte("package p\n\n//idem:operation name=o topic=t ttl=1h maxAttempts=2\ntype M struct {\n\tID string `json:\"id\" idem:\"key\"`\n}\n")}}
	op := load(t, root, "p", gosrc.Options{Defaults: set.Load("d.yaml", diag.Pos{}).Root}).Operations[0]
	if op.Retention != time.Hour || op.OnConflict != "discard" || op.Retry.MaxAttempts != 2 || op.Retry.BackoffBase != time.Second ||
		op.Retry.BackoffFactor != 3 || op.Breaker.Failures != 2 || op.Dependency != "bank" || op.LogFields["id"] != "/id" || len(op.Fingerprint.Pointers) != 1 {
		t.Errorf("the operation is %+v", op)
	}
	gosrc.Load(root, "p", &problems, gosrc.Options{Defaults: set.Load("wrong.yaml", diag.Pos{}).Root})
	var got []string
	for _, p := range problems.Sorted() {
		got = append(got, p.Pos.String()+" "+string(p.Code))
	}
	if want := "wrong.yaml:1:1 IDEM164, wrong.yaml:2:6 IDEM166, wrong.yaml:3:9 IDEM164"; strings.Join(got, ", ") != want {
		t.Errorf("problems are %v, want %s", problems.Sorted(), want)
	}
}
