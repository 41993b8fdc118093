package idem

// Classifier gives an error its class. The zero value knows what the standard
// library, SQL drivers, HTTP and gRPC clients return; Rules come before that
// knowledge. Safe for concurrent use.
//
// An error is a tree: it may wrap one error or, joined or with several %w,
// many. Along each branch the outermost marker (such as [Permanent]) or
// matching rule counts; at one error the marker comes before the rules, and
// the rules in their order. Where no error of a branch is marked or matched,
// the outermost one that is known counts.
//
// Between branches the more careful answer wins, in this order:
//
//	shutting down, which counts even inside a marker
//	by marker or rule: bug, invalid, permanent, rate limited, unavailable, transient
//	by knowledge:      bug, invalid, permanent, rate limited, unavailable, transient
//	an error nothing is known about, which counts as transient
//	ignorable
//
// So one joined cause that will never succeed ends the retries, and an ignored
// error hides no other one. To overrule what is inside, mark the whole.
//
// Known are the errors of this package, context and JSON errors, failed
// connections, SQLSTATE (of errors with a method SQLState() string), SQLite's
// codes, HTTP status (of errors with a method StatusCode() int) and gRPC
// status. A database or dependency that is down, a deadlock and refused
// credentials are unavailable; timeouts are transient; constraints and most 4xx
// permanent; data that does not fit and bad JSON invalid; SQL that cannot run
// and panics bugs. [database/sql.ErrNoRows] is not known: the row may come yet.
type Classifier struct {
	Rules []Rule
}

// Validate returns everything that is wrong with the rules, joined.
func (c Classifier) Validate() error { return validateRules(c.Rules) }

// Classify returns the class of err, and [ClassNone] only for nil. It never
// panics and always ends, whatever the methods of err and its wrapped errors
// do short of blocking: a typed nil, a panic, a cycle of Unwrap.
func (c Classifier) Classify(err error) Class {
	if err == nil {
		return ClassNone
	}
	return c.find(err, fullReach).class
}

// finding is a class and the place it has in the order of [Classifier].
type finding struct {
	class  Class
	weight int
}

const (
	weightIgnorable = iota + 1
	weightUnknown
	weightInferred       // plus severity
	weightSaid     = 100 // plus severity
	weightShutdown = 2 * weightSaid
)

func (c Classifier) find(err error, r reach) finding {
	best := finding{ClassTransient, weightUnknown}
	members, r := r.members(err)
	for i, member := range members {
		if f := c.find(member, r); i == 0 || f.weight > best.weight {
			best = f
		}
	}
	if best.class == ClassShutdown {
		return best
	}
	if class := c.said(err); class != ClassNone {
		return finding{class, weigh(class, weightSaid)}
	}
	if best.weight >= weightSaid || best.class == ClassIgnorable { // a marker or rule further in
		return best
	}
	if class := guard(func() Class { return infer(err) }); class != ClassNone {
		return finding{class, weigh(class, weightInferred)}
	}
	if best.weight < weightInferred {
		if class := guard(func() Class { return inferWeakly(err) }); class != ClassNone {
			return finding{class, weigh(class, weightInferred)}
		}
	}
	return best
}

// said is what a marker or a rule says about err itself.
func (c Classifier) said(err error) Class {
	if m, ok := err.(*mark); ok {
		return m.class
	}
	for _, r := range c.Rules {
		if guard(func() bool { return r.matches(err) }) {
			return r.Class
		}
	}
	return ClassNone
}

func weigh(class Class, source int) int {
	switch class {
	case ClassShutdown:
		return weightShutdown
	case ClassIgnorable:
		return weightIgnorable
	case ClassBug:
		return source + 5
	case ClassInvalid:
		return source + 4
	case ClassPermanent:
		return source + 3
	case ClassRateLimited:
		return source + 2
	case ClassUnavailable:
		return source + 1
	default:
		return source
	}
}

// reach bounds a walk through an error and what it wraps: it is how many errors
// may still be looked at. Errors of people have ten members; cyclic ones, and
// those that join themselves, have no end. Members share what is left, so that
// none can use up what the others need.
type reach int

const fullReach reach = 1 << 13

// members returns the errors that err wraps directly and the reach of each;
// none when there are more than the reach allows.
func (r reach) members(err error) ([]error, reach) {
	members := guard(func() []error { return unwrap(err) })
	n := reach(len(members))
	if n == 0 || n > r {
		return nil, 0
	}
	return members, (r - n) / n
}

func unwrap(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	case interface{ Unwrap() []error }:
		var members []error
		for _, member := range e.Unwrap() {
			if member != nil {
				members = append(members, member)
			}
		}
		return members
	}
	return nil
}

// guard calls a function that calls methods of foreign errors; a panic gives
// the zero value.
func guard[T any](f func() T) (result T) {
	defer func() { _ = recover() }()
	return f()
}
