package deadletter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/idem-go/idem/framework/idem"
)

// Change says how the payload of dead letters is to be changed: exactly one of
// the fields is set.
type Change struct {
	// JSONPatch is a JSON Patch (RFC 6902).
	JSONPatch json.RawMessage `json:"jsonPatch,omitempty"`
	// MergePatch is a JSON Merge Patch (RFC 7386).
	MergePatch json.RawMessage `json:"mergePatch,omitempty"`
	// Upcaster is the name of one that the program has registered.
	Upcaster string `json:"upcaster,omitempty"`
}

// Upcaster makes the payload of a dead letter anew, such as one of an older
// version of the contract. It must not keep or change what it is given.
type Upcaster func(ctx context.Context, d idem.DeadLetter) (payload []byte, err error)

// ErrChange says that the change does not fit the dead letter, or is none.
var ErrChange = errors.New("deadletter: change cannot be applied")

// Edit is what a change does to one dead letter.
type Edit struct {
	ID string `json:"id"`
	// Changed is false if the payload stays as it is.
	Changed bool `json:"changed"`
	// Before and After are the payloads.
	Before []byte `json:"before"`
	After  []byte `json:"after"`
	// Diff is a unified diff of both, as indented JSON where they are JSON.
	Diff string `json:"diff"`
}

// maxPatch bounds a patch, and what one may make of a payload.
const maxPatch = 16 << 20

// RegisterUpcaster makes an upcaster known, in place of one of the same name.
func (s *Service) RegisterUpcaster(name string, u Upcaster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upcasters == nil {
		s.upcasters = map[string]Upcaster{}
	}
	s.upcasters[name] = u
}

// Upcasters returns the names of the registered ones, sorted.
func (s *Service) Upcasters() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.upcasters))
}

// Preview returns what a change would do, and changes nothing.
func (s *Service) Preview(ctx context.Context, id string, c Change) (Edit, error) {
	apply, err := s.compile(c)
	if err != nil {
		return Edit{}, err
	}
	d, err := s.store.GetDeadLetter(ctx, id)
	if err != nil {
		return Edit{}, err
	}
	return edit(ctx, d, apply)
}

// Transform changes the payload of a parked dead letter; the original is kept
// and so is the idempotency identity: replayed, it is still the same message.
func (s *Service) Transform(ctx context.Context, id string, c Change, by By) (Edit, error) {
	apply, err := s.compile(c)
	if err != nil {
		return Edit{}, err
	}
	var e Edit
	err = s.store.Do(ctx, func(tx idem.Tx) error {
		e, err = s.transform(ctx, tx, id, apply, c.what(), by)
		return err
	})
	return e, err
}

func (s *Service) transform(ctx context.Context, tx idem.Tx, id string, apply applier, what string, by By) (Edit, error) {
	d, err := s.move(ctx, tx, id, idem.DeadLetterParked) // locks it
	if err != nil {
		return Edit{}, err
	}
	e, err := edit(ctx, d, apply)
	if err != nil || !e.Changed {
		return e, err
	}
	if err := s.store.EditDeadLetter(ctx, tx, id, e.After); err != nil {
		return e, err
	}
	return e, s.store.Audit(ctx, tx, by.entry(ActionTransform, d, what))
}

type applier func(context.Context, idem.DeadLetter) ([]byte, error)

// what names the change in the audit. A patch may hold personal data, so it is
// not repeated.
func (c Change) what() string {
	switch {
	case c.JSONPatch != nil:
		return fmt.Sprintf("JSON patch of %d bytes", len(c.JSONPatch))
	case c.MergePatch != nil:
		return fmt.Sprintf("merge patch of %d bytes", len(c.MergePatch))
	default:
		return "upcaster " + c.Upcaster
	}
}

// compile checks a change once for all dead letters.
func (s *Service) compile(c Change) (applier, error) {
	set := 0
	for _, is := range []bool{c.JSONPatch != nil, c.MergePatch != nil, c.Upcaster != ""} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return nil, fmt.Errorf("%w: give one of a JSON patch, a merge patch and the name of an upcaster", ErrChange)
	case len(c.JSONPatch)+len(c.MergePatch) > maxPatch:
		return nil, fmt.Errorf("%w: the patch has more than %d bytes", ErrChange, maxPatch)
	case c.JSONPatch != nil:
		patch, err := jsonpatch.DecodePatch(c.JSONPatch)
		if err != nil {
			return nil, fmt.Errorf("%w: not a JSON patch (RFC 6902), which is a list of operations: %w", ErrChange, err)
		}
		return func(_ context.Context, d idem.DeadLetter) ([]byte, error) {
			o := jsonpatch.NewApplyOptions()
			o.AccumulatedCopySizeLimit, o.EscapeHTML = maxPatch, false
			return patch.ApplyWithOptions(d.Payload, o)
		}, nil
	case c.MergePatch != nil:
		if !json.Valid(c.MergePatch) {
			return nil, fmt.Errorf("%w: the merge patch (RFC 7386) is not JSON", ErrChange)
		}
		return func(_ context.Context, d idem.DeadLetter) ([]byte, error) {
			return jsonpatch.MergePatch(d.Payload, c.MergePatch)
		}, nil
	}
	s.mu.Lock()
	u := s.upcasters[c.Upcaster]
	s.mu.Unlock()
	if u == nil {
		return nil, fmt.Errorf("%w: no upcaster %q is registered in this program: register it with RegisterUpcaster, and ask the application that has it (idemctl -admin URL)", ErrChange, c.Upcaster)
	}
	return applier(u), nil
}

func edit(ctx context.Context, d idem.DeadLetter, apply applier) (Edit, error) {
	before := d.Payload
	d.Payload = bytes.Clone(before)
	after, err := guarded(ctx, d, apply)
	if err != nil {
		return Edit{}, fmt.Errorf("deadletter %s: %w: %w", d.ID, ErrChange, err)
	}
	e := Edit{ID: d.ID, Before: before, After: after, Changed: !bytes.Equal(before, after)}
	if e.Changed {
		e.Diff = string(diff.Diff("before", pretty(before), "after", pretty(after)))
	}
	return e, nil
}

// guarded turns a panic of an upcaster into an error.
func guarded(ctx context.Context, d idem.DeadLetter, apply applier) (after []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %s", idem.Summary(fmt.Errorf("%v", p)))
		}
	}()
	return apply(ctx, d)
}

// pretty is a payload for people; what is no JSON is quoted.
func pretty(payload []byte) []byte {
	var out bytes.Buffer
	if json.Indent(&out, payload, "", "  ") != nil {
		return fmt.Appendf(nil, "%q\n", payload)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
