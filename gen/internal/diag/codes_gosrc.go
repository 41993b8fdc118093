package diag

// Of Go source as the contract.
const (
	GoSyntax        Code = "IDEM160"
	GoPackage       Code = "IDEM161"
	BadDirective    Code = "IDEM162"
	LostDirective   Code = "IDEM163"
	UnknownParam    Code = "IDEM164"
	RepeatedParam   Code = "IDEM165"
	BadParam        Code = "IDEM166"
	MissingParam    Code = "IDEM167"
	NotAMessage     Code = "IDEM168"
	GoUnsupported   Code = "IDEM169"
	GoUndefined     Code = "IDEM170"
	BadTag          Code = "IDEM171"
	UnknownRule     Code = "IDEM172"
	BadRule         Code = "IDEM173"
	JSONTag         Code = "IDEM174"
	OwnMethod       Code = "IDEM175"
	LostKey         Code = "IDEM176"
	NoGoKey         Code = "IDEM177"
	BadGoPointer    Code = "IDEM178"
	UnknownGoName   Code = "IDEM179"
	NoDispatch      Code = "IDEM180"
	TakenName       Code = "IDEM181"
	MessagesDiffer  Code = "IDEM182"
	EmptyGoContract Code = "IDEM183"
)

var goSourceCodes = []Info{
	{GoSyntax, "a file of the package is not Go"},
	{GoPackage, "the folder is not one Go package"},
	{BadDirective, "an //idem: directive is not understood"},
	{LostDirective, "an //idem: directive is not where it has an effect"},
	{UnknownParam, "a directive has a parameter that idemgen does not know"},
	{RepeatedParam, "a parameter is given twice, or with two values"},
	{BadParam, "a directive's parameter has a value that does not fit"},
	{MissingParam, "a directive lacks a parameter"},
	{NotAMessage, "a type cannot be a message"},
	{GoUnsupported, "a Go type has no JSON form that idemgen supports"},
	{GoUndefined, "a Go type is not declared in the package"},
	{BadTag, "a struct tag cannot be understood"},
	{UnknownRule, "an idem tag has a word that idemgen does not know"},
	{BadRule, "a rule of an idem tag does not fit its value or the field's type"},
	{JSONTag, "a json tag leads to members that are not told apart, or not what it seems"},
	{OwnMethod, "a type has a method that stands in the way"},
	{LostKey, "a key tag has no effect, or does not say which comes first"},
	{NoGoKey, "an operation has no idempotency key"},
	{BadGoPointer, "an expression points to nothing that can be used"},
	{UnknownGoName, "a directive names something that is not declared"},
	{NoDispatch, "nothing tells the messages of an operation apart"},
	{TakenName, "a name is taken, by the package or by another directive"},
	{MessagesDiffer, "the messages of an operation do not agree"},
	{EmptyGoContract, "the package has no operation and no send"},
}
