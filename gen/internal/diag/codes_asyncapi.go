package diag

// Of the structure of an AsyncAPI document.
const (
	AsyncAPIVersion   Code = "IDEM020"
	UnknownField      Code = "IDEM021"
	MissingField      Code = "IDEM022"
	WrongKind         Code = "IDEM023"
	BadAddress        Code = "IDEM024"
	ChannelParameters Code = "IDEM025"
	BadMessageRef     Code = "IDEM026"
	MessageName       Code = "IDEM027"
	NoMessages        Code = "IDEM028"
	SchemaFormat      Code = "IDEM029"
	ContentType       Code = "IDEM030"
	ReplyUnsupported  Code = "IDEM031"
	NoDiscriminator   Code = "IDEM032"
	BadExample        Code = "IDEM033"
	Misplaced         Code = "IDEM034"
	ProposalPart      Code = "IDEM035"
	ProposalConflict  Code = "IDEM036"
	NoOperations      Code = "IDEM037"
)

var asyncapiCodes = []Info{
	{AsyncAPIVersion, "the document is not AsyncAPI 3.0 or 3.1"},
	{UnknownField, "an object has a field that AsyncAPI does not know"},
	{MissingField, "a field that must be there is missing"},
	{WrongKind, "a value is of the wrong kind"},
	{BadAddress, "a channel's address is missing or cannot be a topic"},
	{ChannelParameters, "a channel's address has parameters"},
	{BadMessageRef, "an operation refers to what is not a message of its channel"},
	{MessageName, "a message's name is not unique, or not a name"},
	{NoMessages, "an operation or its channel has no messages"},
	{SchemaFormat, "a schema is written in a format that idemgen does not read"},
	{ContentType, "a message is not JSON"},
	{ReplyUnsupported, "an operation has a reply"},
	{NoDiscriminator, "nothing tells the messages of a channel apart"},
	{BadExample, "an example does not fit its message"},
	{Misplaced, "x-idempotency is misspelt, or where it has no meaning"},
	{ProposalPart, "a part of an operation's retry or deadLetter has no meaning here"},
	{ProposalConflict, "an operation's retry or deadLetter contradicts its x-idempotency"},
	{NoOperations, "the contract has no operations"},
}
