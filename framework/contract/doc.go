// Package contract is what generated messages run on: it decodes JSON exactly
// as a contract says, and reports which rules a value breaks.
//
// It differs from encoding/json where a contract does. Names of members are
// matched exactly; of a name that comes twice the last one counts, all of it;
// null and absent are told apart; 1.0 and 1e2 are integers, and integers keep
// all 64 bits. Like encoding/json it replaces text that is no Unicode by U+FFFD.
//
// Errors say where (a JSON pointer) and which rule, never what the value was.
package contract
