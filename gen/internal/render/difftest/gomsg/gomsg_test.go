package gomsg

import (
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/idem-go/idem/framework/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func valid() All {
	return All{
		Base: Base{Number: 1}, Text: "çã", Code: "abc", Small: 100, Wide: 3, Ratio: 0.3, Status: Done, Level: High, Fixed: "x", Flag: true,
		Inner: Inner{Name: "n"}, Day: "2026-01-31", List: []Code{"a", "b"}, Plain: []string{}, Raw: json.RawMessage("null"),
	}
}

// Every way to hold a member is checked as docs/go-input.md says.
func TestValidate(t *testing.T) {
	zero, one, empty, high := 0, 1, "", High
	other := Level(7)
	for name, test := range map[string]struct {
		change func(*All)
		want   string
	}{
		"valid":             {func(*All) {}, ""},
		"embedded":          {func(m *All) { m.Number = 0 }, "/number: must be at least 1"},
		"characters":        {func(m *All) { m.Text = "ç" }, "/text: must have at least 2 characters"},
		"named text":        {func(m *All) { m.Code = "A" }, "/code: must match ^[a-z]+$"},
		"narrow integer":    {func(m *All) { m.Small = 101 }, "/small: must be at most 100"},
		"unsigned":          {func(m *All) { m.Wide = 1<<64 - 2 }, "/wide: must be a multiple of 3"},
		"largest unsigned":  {func(m *All) { m.Wide = 1<<64 - 1 }, ""},
		"float32 bound":     {func(m *All) { m.Ratio = 0.1 }, ""},
		"float32":           {func(m *All) { m.Ratio = 0.25 }, "/ratio: must be a multiple of 0.1"},
		"enum":              {func(m *All) { m.Status = "x" }, "/status: must be one of the contract's values"},
		"integer enum":      {func(m *All) { m.Level = 3 }, "/level: must be one of the contract's values"},
		"const":             {func(m *All) { m.Fixed, m.Flag = "", false }, `/fixed: must be "x"; /flag: must be true`},
		"object":            {func(m *All) { m.Inner.Name = "" }, "/inner/name: must not be empty"},
		"format":            {func(m *All) { m.Day = "x" }, "/day: must have the format date"},
		"nullable":          {func(m *All) { m.Nullable = &zero }, "/nullable: must be at least 1"},
		"nullable fits":     {func(m *All) { m.Nullable = &one }, ""},
		"nullable object":   {func(m *All) { m.NullObj = &Inner{} }, "/nullObj/name: must not be empty"},
		"optional":          {func(m *All) { m.Opt = &empty }, "/opt: must not be empty"},
		"optional by value": {func(m *All) { m.OptZero, m.OptNum = "x", 4 }, "/optNum: must be at least 5; /optZero: must have at least 2 characters"},
		"optional object":   {func(m *All) { m.OptObj.Name = "x" }, ""},
		"optional, or null": {func(m *All) { m.Both = contract.Of(0) }, "/both: must be at least 1"},
		"null": {func(m *All) {
			m.Both, m.BothObj, m.BothEnum = contract.Null[int](), contract.Null[Inner](), contract.Null[Status]()
		}, ""},
		"optional enum":      {func(m *All) { m.BothEnum = contract.Of(Status("")) }, "/bothEnum: must be one of the contract's values"},
		"optional part":      {func(m *All) { m.BothObj = contract.Of(Inner{}) }, "/bothObj/name: must not be empty"},
		"optional list":      {func(m *All) { m.BothTime = contract.Of([]Inner{{}}) }, "/bothTime/0/name: must not be empty"},
		"nil list":           {func(m *All) { m.List, m.Plain = nil, nil }, "/list: must have at least 1 element; /plain: must be there"},
		"equal elements":     {func(m *All) { m.List = []Code{"a", "a", ""} }, "/list: must have no two equal elements; /list/2: must not be empty"},
		"list of pointers":   {func(m *All) { m.OptList = []*Inner{nil, {}, nil} }, "/optList: must have at most 2 elements; /optList/1/name: must not be empty"},
		"list of lists":      {func(m *All) { m.Matrix = [][]Ratio{{0.5, 2}, nil} }, "/matrix/0/1: must be at most 1; /matrix/1: must be there"},
		"map":                {func(m *All) { m.Map = map[string]*Level{"a": &high, "b/": &other} }, "/map: must have at most 1 member; /map/b~1: must be one of the contract's values"},
		"map with null":      {func(m *All) { m.Map = map[string]*Level{"a": nil} }, ""},
		"map of objects":     {func(m *All) { m.Objects = map[string]Inner{"a": {}} }, "/objects/a/name: must not be empty"},
		"raw":                {func(m *All) { m.Raw = nil }, "/raw: must be there"},
		"equal objects":      {func(m *All) { m.Unique = []Inner{{"x"}, {"x"}} }, "/unique: must have no two equal elements"},
		"time, of any value": {func(m *All) { m.OptTime, m.Times = time.Unix(1, 0), []time.Time{{}, {}} }, ""},
		"itself":             {func(m *All) { next := valid(); next.Number = 0; m.Next = &next }, "/next/number: must be at least 1"},
	} {
		m := valid()
		test.change(&m)
		got := ""
		if err := m.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
