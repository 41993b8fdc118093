package gosrc_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/idem-go/idem/gen/internal/gosrc"
)

// An integer has the range of its Go type: what is outside does not decode.
func TestRangesOfIntegers(t *testing.T) {
	ranges := map[string]string{
		"int8": "-128..127", "int16": "-32768..32767", "int32": "-2147483648..2147483647", "rune": "-2147483648..2147483647", "int64": "..", "int": "..",
		"uint8": "0..255", "byte": "0..255", "uint16": "0..65535", "uint32": "0..4294967295",
		"uint64": "0..18446744073709551615", "uint": "0..18446744073709551615",
	}
	var b strings.Builder
	b.WriteString("package p\n\n//idem:operation name=o topic=t\ntype M struct {\n\tK string `idem:\"key\"`\n")
	for name := range ranges {
		fmt.Fprintf(&b, "\tF%s %s `json:%q`\n", name, name, name)
	}
	c := load(t, fstest.MapFS{"p/a.go": {Data: []byte(b.String() + "}\n")}}, "p", gosrc.Options{})
	for _, f := range c.Messages[0].Payload.Fields[1:] {
		if got := f.Type.Minimum + ".." + f.Type.Maximum; got != ranges[f.Name] {
			t.Errorf("%s has the range %s, want %s", f.Name, got, ranges[f.Name])
		}
		if wide := f.Name == "uint" || f.Name == "uint64"; f.Type.Unsigned != wide {
			t.Errorf("%s: Unsigned is %v", f.Name, f.Type.Unsigned)
		}
	}
}

// What tells messages apart is no matter of the order of fields or files.
func TestDispatchByTheFirstName(t *testing.T) {
	const text = `package p

//idem:operation name=o topic=t
type A struct {
	K string ` + "`idem:\"key\"`" + `
	Z string ` + "`json:\"z\" idem:\"const=a\"`" + `
	Y string ` + "`json:\"y\" idem:\"const=1\"`" + `
}

//idem:operation name=o
type B struct {
	K string ` + "`idem:\"key\"`" + `
	Y string ` + "`json:\"y\" idem:\"const=2\"`" + `
	Z string ` + "`json:\"z\" idem:\"const=b\"`" + `
}

//idem:send name=s topic=t
type C struct {
	Y string ` + "`json:\"y\" idem:\"const=3\"`" + `
	Z string ` + "`json:\"z\" idem:\"const=c\"`" + `
}
`
	d := load(t, fstest.MapFS{"p/a.go": {Data: []byte(text)}}, "p", gosrc.Options{MessageHeader: "name"}).Operations[0].Dispatch
	if d.Pointer != "/y" || d.Header != "" || fmt.Sprint(d.Values, d.Others) != "[1 2] [3]" {
		t.Errorf("the messages are told apart by %+v", d)
	}
}

// Names of directives and headers become Go names as those of AsyncAPI do, whatever
// they begin with.
func TestGoNames(t *testing.T) {
	const text = `package p

//idem:operation name=2fa.user-id topic=t headerKey=x-request-id
type A struct{ K string }

//idem:send name=http_url topic=u
type B struct{ K string }
`
	c := load(t, fstest.MapFS{"p/a.go": {Data: []byte(text)}}, "p", gosrc.Options{})
	got := c.Operations[0].GoName + " " + c.Messages[0].Headers.Fields[0].GoName + " " + c.Sends[0].GoName
	if want := "N2faUserID XRequestID HTTPURL"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
