package diag

import "slices"

// Code is the stable name of a kind of problem.
type Code string

// Info says what a code is about, for the documentation.
type Info struct {
	Code  Code
	Title string
}

// The codes. A number is never used again for something else.
const (
	// Reading files.
	Unreadable   Code = "IDEM001"
	Syntax       Code = "IDEM002"
	TooBig       Code = "IDEM003"
	BadRef       Code = "IDEM004"
	RefLoop      Code = "IDEM005"
	RefOutside   Code = "IDEM006"
	DuplicateKey Code = "IDEM007"
	TooMany      Code = "IDEM008"
)

// Codes returns every code in order.
func Codes() []Info {
	out := slices.Concat(codes, asyncapiCodes, idempotencyCodes, schemaCodes, goSourceCodes, settingsCodes, treeCodes)
	slices.SortFunc(out, func(a, b Info) int {
		if a.Code < b.Code {
			return -1
		}
		return 1
	})
	return out
}

var codes = []Info{
	{Unreadable, "a file cannot be read"},
	{Syntax, "a file is not YAML or JSON"},
	{TooBig, "a file is too big, too deep or has too many values"},
	{BadRef, "a $ref points nowhere, or to the wrong kind of thing"},
	{RefLoop, "$refs lead round in a circle"},
	{RefOutside, "a $ref leaves the root folder or the machine"},
	{DuplicateKey, "a key is written twice in one object"},
	{TooMany, "there are more problems than are worth showing"},
}
