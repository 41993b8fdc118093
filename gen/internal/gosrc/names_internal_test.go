package gosrc

// What the documentation must name.
var (
	OperationParams = operationParams
	RuleNames       = ruleNames
	Kinds           = kinds
)
