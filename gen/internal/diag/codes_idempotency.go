package diag

// Of x-idempotency.
const (
	UnknownOption   Code = "IDEM050"
	BadOption       Code = "IDEM051"
	BadDuration     Code = "IDEM052"
	NoKey           Code = "IDEM054"
	BadExpression   Code = "IDEM055"
	KeyAbsent       Code = "IDEM056"
	KeyOptional     Code = "IDEM057"
	KeyNotScalar    Code = "IDEM058"
	KeyNoHeaders    Code = "IDEM059"
	ShortRetention  Code = "IDEM060"
	BadEmit         Code = "IDEM061"
	RecipesDiffer   Code = "IDEM062"
	DuplicateScope  Code = "IDEM063"
	BadName         Code = "IDEM064"
	BadOrdering     Code = "IDEM065"
	DeadLetterLoop  Code = "IDEM066"
	ResultOfOwn     Code = "IDEM067"
	BreakerAlone    Code = "IDEM068"
	BreakersDiffer  Code = "IDEM069"
	OptionOfReceive Code = "IDEM070"
	PathAbsent      Code = "IDEM071"
	KeyConstant     Code = "IDEM072"
)

var idempotencyCodes = []Info{
	{UnknownOption, "x-idempotency has a field that idemgen does not know"},
	{BadOption, "a field of x-idempotency has a value that does not fit"},
	{BadDuration, "a duration is not one"},
	{NoKey, "an operation has no idempotency key"},
	{BadExpression, "an expression does not point into a message"},
	{KeyAbsent, "a key points to a value that the schema does not declare"},
	{KeyOptional, "a key points to a value that may be missing or null"},
	{KeyNotScalar, "a key points to a value that is not text, number or boolean"},
	{KeyNoHeaders, "a key is in a header, but the message declares no headers"},
	{ShortRetention, "a processed key is forgotten before its retries have ended"},
	{BadEmit, "emits refers to what is not a send operation"},
	{RecipesDiffer, "the messages of an operation ask for different treatment"},
	{DuplicateScope, "two operations have the same scope"},
	{BadName, "a name has characters or a length that not every broker and store allows"},
	{BadOrdering, "an ordering does not fit the operation"},
	{DeadLetterLoop, "dead letters would come back to the operation"},
	{ResultOfOwn, "a result without transaction external"},
	{BreakerAlone, "a breaker without the name of its dependency"},
	{BreakersDiffer, "one dependency has two different breakers"},
	{OptionOfReceive, "a field of x-idempotency has no meaning on a send operation"},
	{PathAbsent, "a fingerprint or log field points to a value that the schema does not declare"},
	{KeyConstant, "the key is the same for every message"},
}
