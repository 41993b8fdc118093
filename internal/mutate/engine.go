package mutate

import "testing"

// Mutation is one guard taken out of the engine.
type Mutation struct {
	Name string
	// What no longer holds.
	What string
	// Own and External are subtests of idemtest's Gold and GoldExternal that must fail; none if
	// the mutation does not concern that kind of handler.
	Own, External []string
	// Cases are cases of the conformance kit each of which must fail, on the
	// pair of that name in conformance/matrix ("" is TestMemory).
	Cases []string
	Pair  string

	edits []Edit
}

// envMutation chooses one in a program built with [Engine]'s overlay.
const envMutation = "IDEM_MUTATION"

// Env is the environment variable that switches the mutation on.
func Env(m Mutation) string { return envMutation + "=" + m.Name }

// Engine writes an overlay with all [Mutations], each asleep until [Env] wakes
// it, so that one build serves all of them.
func Engine(t testing.TB) string {
	t.Helper()
	var edits []Edit
	for _, m := range append(Mutations(), KitMutations()...) {
		edits = append(edits, m.edits...)
	}
	return overlay(t, map[string]string{"framework/idem/mutated_overlay.go": mutated}, edits)
}

const mutated = `package idem

import "os"

func mutated(name string) bool { return os.Getenv("` + envMutation + `") == name }

// Mutated is for the packages around this one.
func Mutated(name string) bool { return mutated(name) }

func mutatedValue[T any](name string, is, otherwise T) T {
	if mutated(name) {
		return otherwise
	}
	return is
}
`

// Mutations are the guards that a gold test must miss when they are gone.
func Mutations() []Mutation {
	const (
		engine   = "framework/idem/engine.go"
		external = "framework/idem/external.go"
		identity = "framework/idem/identity.go"
		record   = "framework/idem/record.go"
		attempt  = "framework/idem/attempt.go"
		decode   = "framework/idem/decode.go"
	)
	copies := []string{"duplicate", "race", "lostack"}
	return []Mutation{
		{
			Name: "claim", What: "a key that is done does not keep its message from running",
			Cases: []string{"DUP-01"},
			Own:   copies, External: copies,
			edits: []Edit{
				{engine, "if err := a.admit(h); err != nil {\n\t\t\treturn err\n\t\t}\n\t\ta.Reached(ctx, StepClaimed)",
					"if err := a.admit(h); err != nil && !(mutated(\"claim\") && errors.Is(err, errDuplicate)) {\n\t\t\treturn err\n\t\t}\n\t\ta.Reached(ctx, StepClaimed)"},
				{external, "if err := a.admit(h); err != nil {", "if err := a.admit(h); err != nil && !(mutated(\"claim\") && errors.Is(err, errDuplicate)) {"},
			},
		},
		{
			Name: "mark", What: "what is done is not marked as done",
			Cases: []string{"DUP-03"},
			Own:   copies,
			edits: []Edit{
				{engine, "if err := h.save(ctx, up); err != nil {", "if err := h.save(ctx, up); err != nil && !mutated(\"mark\") {"},
				{identity, "func (h *held) save(ctx context.Context, up Update) error {",
					"func (h *held) save(ctx context.Context, up Update) error {\n\tif up.Status == StatusDone && mutated(\"mark\") {\n\t\treturn nil\n\t}"},
			},
		},
		{
			Name: "rollback", What: "what a failed run wrote is committed",
			Cases: []string{"RETRY-01"},
			Own:   []string{"retry", "permanent", "replay"},
			edits: []Edit{
				{engine, "token := newToken()\n\tran := false\n", "token := newToken()\n\tran := false\n\tvar kept error\n"},
				{engine, "return c.run(context.WithValue(ctx, unitKey{}, u), a.info(u), a.payload)\n\t\t}); err != nil {",
					"return c.run(context.WithValue(ctx, unitKey{}, u), a.info(u), a.payload)\n\t\t}); err != nil {\n\t\t\tif mutated(\"rollback\") {\n\t\t\t\tkept = err\n\t\t\t\treturn nil\n\t\t\t}"},
				{engine, "\tif ran {\n\t\treturn c.afterRun(ctx, a, err)", "\tif kept != nil {\n\t\treturn kept\n\t}\n\tif ran {\n\t\treturn c.afterRun(ctx, a, err)"},
			},
		},
		{
			Name: "fingerprint", What: "a key that is used again for something else is not noticed",
			Cases: []string{"DUP-14"},
			Own:   []string{"keyreuse"}, External: []string{"keyreuse"},
			edits: []Edit{{identity, "(rec.Fingerprint == \"\" || own == \"\" ||", "(mutated(\"fingerprint\") || rec.Fingerprint == \"\" || own == \"\" ||"}},
		},
		{
			Name: "retention", What: "keys are forgotten at once",
			Cases: []string{"DUP-05"},
			Own:   []string{"expiry"}, External: []string{"expiry"},
			edits: []Edit{{attempt, "Retention: a.Consumer.Retention,", "Retention: mutatedValue(\"retention\", a.Consumer.Retention, time.Microsecond),"}},
		},
		{
			Name: "letter", What: "a message that is given up is gone",
			Cases: []string{"DLQ-15"},
			Own:   []string{"permanent", "replay", "keyreuse", "invalid"}, External: []string{"permanent", "replay", "keyreuse", "invalid"},
			edits: []Edit{{record, "\tstored, err := tx.Park(ctx, d)\n", "\tif mutated(\"letter\") {\n\t\treturn nil\n\t}\n\tstored, err := tx.Park(ctx, d)\n"}},
		},
		{
			Name: "payload", What: "a dead letter is not what was sent",
			Cases: []string{"DLQ-03"},
			Own:   []string{"permanent", "replay", "keyreuse", "invalid"}, External: []string{"permanent"},
			edits: []Edit{{record, "Payload:  a.payload, Replays: a.replays,", "Payload: mutatedValue(\"payload\", a.payload, append([]byte(\" \"), a.payload...)), Replays: a.replays,"}},
		},
		{
			Name: "validate", What: "nobody looks whether a payload keeps its contract",
			Own: []string{"invalid"}, External: []string{"invalid"},
			edits: []Edit{{decode, "\t\terr = val.Validate()\n\tdefault:", "\t\terr = mutatedValue(\"validate\", val.Validate(), nil)\n\tdefault:"}},
		},
		{
			Name: "reconcile", What: "a call whose outcome is unknown is made again",
			Cases:    []string{"RETRY-17"},
			External: []string{"lostresult"},
			edits:    []Edit{{external, "if rec.Status == StatusStarted && result == nil {", "if rec.Status == StatusStarted && result == nil && !mutated(\"reconcile\") {"}},
		},
		{
			Name: "result", What: "what a call returned is not kept, so that it is made again when Apply fails",
			External: []string{"retry", "database"},
			edits: []Edit{
				{external, "a.result = result\n", "if mutated(\"result\") {\n\t\ta.unsettled = false\n\t} else {\n\t\ta.result = result\n\t}\n"},
				{external, "return c.release(ctx, a, token, StatusStarted, result, err)",
					"if mutated(\"result\") {\n\t\t\treturn c.release(ctx, a, token, StatusPending, nil, err)\n\t\t}\n\t\treturn c.release(ctx, a, token, StatusStarted, result, err)"},
			},
		},
	}
}
