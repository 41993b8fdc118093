package diag

// Problems of schemas and of names in Go.
const (
	SchemaKind        Code = "IDEM080"
	SchemaType        Code = "IDEM081"
	SchemaUnknown     Code = "IDEM082"
	SchemaUnsupported Code = "IDEM083"
	FormatUnknown     Code = "IDEM084"
	SchemaPattern     Code = "IDEM085"
	SchemaLimit       Code = "IDEM086"
	SchemaEnum        Code = "IDEM087"
	SchemaRequired    Code = "IDEM088"
	SchemaConflict    Code = "IDEM089"
	SchemaUnion       Code = "IDEM090"
	SchemaMisplaced   Code = "IDEM091"
	SchemaRef         Code = "IDEM092"
	SchemaNull        Code = "IDEM093"
	SchemaHeaders     Code = "IDEM094"
	SchemaEndless     Code = "IDEM095"

	NameClash Code = "IDEM110"
	NameTaken Code = "IDEM111"
)

var schemaCodes = []Info{
	{SchemaKind, "a keyword of a schema has the wrong kind of value"},
	{SchemaType, "a schema's type is missing, unknown, or more than one"},
	{SchemaUnknown, "a schema has a word that is no keyword"},
	{SchemaUnsupported, "a schema uses a keyword that is not supported"},
	{FormatUnknown, "a format is not supported"},
	{SchemaPattern, "a pattern is not supported"},
	{SchemaLimit, "bounds contradict each other or are beyond what fits"},
	{SchemaEnum, "enum or const does not fit its type or its neighbours"},
	{SchemaRequired, "a required member is not among the properties"},
	{SchemaConflict, "the schemas of an allOf contradict each other"},
	{SchemaUnion, "the alternatives of a oneOf cannot be told apart"},
	{SchemaMisplaced, "a keyword says nothing about values of the type"},
	{SchemaRef, "a keyword beside $ref has no meaning"},
	{SchemaNull, "a payload may be null"},
	{SchemaHeaders, "headers are not an object of scalars"},
	{SchemaEndless, "an object must contain itself without end"},
	{NameClash, "two names of the contract are one name in Go"},
	{NameTaken, "a name of the contract is one of idemgen's own in Go"},
}
