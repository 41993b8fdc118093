package diag

// Of the files in the project, and of idemgen.lock.
const (
	Foreign        Code = "IDEM120"
	PathClash      Code = "IDEM121"
	RecipeChanged  Code = "IDEM122"
	VersionLowered Code = "IDEM123"
	BadLock        Code = "IDEM124"
	LockMissing    Code = "IDEM125"
	DriftMissing   Code = "IDEM126"
	DriftChanged   Code = "IDEM127"
	UserSyntax     Code = "IDEM128"
	Leftover       Code = "IDEM129"
	ScopeLeft      Code = "IDEM130"
	Renamed        Code = "IDEM131"
	DriftGone      Code = "IDEM132"
	DriftUnwired   Code = "IDEM133"
	NotWired       Code = "IDEM134"
)

var treeCodes = []Info{
	{Foreign, "a generated file would overwrite what idemgen has not written"},
	{PathClash, "two generated files would be one on disk"},
	{RecipeChanged, "the key recipe of an operation changed under the same keyVersion"},
	{VersionLowered, "a keyVersion went down"},
	{BadLock, "idemgen.lock cannot be understood"},
	{LockMissing, "idemgen.lock is gone, but what it is about is there"},
	{DriftMissing, "a type, method or function that generated code needs is not in the user's code"},
	{DriftChanged, "a method or function of the user's code does not fit what the contract asks for"},
	{UserSyntax, "a file of the user is not Go"},
	{Leftover, "a file is about something that is no longer in the contract"},
	{ScopeLeft, "an operation's scope changed, and keys under the old one are not looked up"},
	{Renamed, "an operation came and another went, and nothing says whether they are one"},
	{DriftGone, "the user's code uses a name that is no longer generated"},
	{DriftUnwired, "a handler is not given to Wire"},
	{NotWired, "idem.yaml chooses a transport that is not wired"},
}
