package idem

// hadNoEffect reports whether an external call that failed with err surely had
// no effect. Being wrong here charges twice, so only words count: the mark of
// [NotApplied] or a refusing status in every branch of err, or a marker or rule
// that says rate limited, invalid, permanent or ignorable. What is merely
// inferred, such as an answer that does not parse, leaves the outcome unknown.
func (c Classifier) hadNoEffect(err error) bool {
	if everyBranchRefuses(err, fullReach) {
		return true
	}
	f := c.find(err, fullReach)
	switch f.class {
	case ClassRateLimited, ClassInvalid, ClassPermanent:
		return f.weight >= weightSaid
	case ClassIgnorable:
		return true // nothing infers it
	}
	return false
}

func everyBranchRefuses(err error, r reach) bool {
	if m, ok := err.(*mark); ok && m.notApplied || guard(func() bool { return refuses(err) }) {
		return true
	}
	members, r := r.members(err)
	for _, member := range members {
		if !everyBranchRefuses(member, r) {
			return false
		}
	}
	return len(members) > 0
}

// refuses reports whether err is an answer that turns the request down before
// anything was done. A conflict is none: the effect may be there already.
func refuses(err error) bool {
	switch status := httpStatus(err); status {
	case 408, 409, 425:
		return false
	default:
		if status >= 400 && status < 500 {
			return true
		}
	}
	switch grpcCode(err) {
	case 3, 5, 8, 9, 11, 12, 16: // InvalidArgument, NotFound, ResourceExhausted, FailedPrecondition, OutOfRange, Unimplemented, Unauthenticated
		return true
	}
	return false
}
