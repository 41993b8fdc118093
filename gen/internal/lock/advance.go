package lock

import (
	"fmt"
	"maps"
	"slices"

	"github.com/idem-go/idem/gen/internal/diag"
	"github.com/idem-go/idem/gen/internal/model"
)

// Advance returns the operations that the lock gets for the contract's, and
// reports what must not be: a recipe that changes under its version would make
// the records stored under it unreachable, and duplicates of what was
// processed would be processed again. Warnings tell what is allowed but has a
// price. The lock itself is not changed.
func (l *Lock) Advance(ops []*model.Operation, problems, warnings *diag.List) map[string]Operation {
	a := advance{problems: problems, warnings: warnings, old: l.Operations, live: map[string]*model.Operation{}, renamed: map[string]bool{}}
	for _, op := range ops {
		a.live[op.ID] = op
	}
	out := map[string]Operation{}
	for _, op := range ops {
		out[op.ID] = a.operation(op)
	}
	for _, op := range ops {
		a.refuseRenaming(op)
	}
	for id, o := range l.Operations {
		if a.live[id] == nil && !a.renamed[id] {
			o.Retired = true
			out[id] = o
		}
	}
	return out
}

type advance struct {
	problems, warnings *diag.List
	old                map[string]Operation
	live               map[string]*model.Operation
	renamed            map[string]bool // operations of the lock that live on under another id
}

func (a *advance) operation(op *model.Operation) Operation {
	next := Operation{Recipe: RecipeOf(op)}
	if was, ok := a.old[op.ID]; ok {
		a.compare(op, next.Recipe, was.Recipe)
		next.Previous = before(next.Recipe, was)
		if was.Scope != next.Scope {
			a.warnings.Addf(diag.ScopeLeft, op.Pos,
				fmt.Sprintf("do not deploy this while messages may come again that were processed under scope %q", was.Scope),
				"operation %s moves from scope %q to %q: what was processed under the old scope is forgotten", op.ID, was.Scope, next.Scope)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.old)) {
		if id != op.ID {
			next.Previous = append(next.Previous, a.other(op, next.Recipe, id)...)
		}
	}
	slices.SortStableFunc(next.Previous, func(x, y Recipe) int { return y.Version - x.Version })
	next.Previous = slices.CompactFunc(next.Previous, Recipe.same)
	return next
}

// refuseRenaming reports a new operation that may be one that has just gone,
// under another name: its scope went with the name unless it was written down.
func (a *advance) refuseRenaming(op *model.Operation) {
	if _, known := a.old[op.ID]; known || op.ScopeWritten {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(a.old)) {
		was := a.old[id]
		if was.Retired || a.live[id] != nil || a.renamed[id] {
			continue
		}
		a.problems.Addf(diag.Renamed, op.Pos,
			fmt.Sprintf("write scope: %s in its x-idempotency if it is the same operation, scope: %s if it is another one", was.Scope, op.Scope),
			"operation %s is new and %s has gone: if it was renamed, what was processed under scope %q would be forgotten and its duplicates processed again",
			op.ID, id, was.Scope)
		return
	}
}

// other compares an operation with what another one has stored in its scope.
// It returns the recipes of one that was only renamed.
func (a *advance) other(op *model.Operation, next Recipe, id string) []Recipe {
	was, live := a.old[id], a.live[id]
	if live != nil && live.Scope == next.Scope {
		return nil // two in one scope: not a matter of history
	}
	n := a.problems.Len()
	for _, r := range was.Previous {
		if r.Scope == next.Scope && r.Version == next.Version {
			a.compare(op, next, r)
		}
	}
	if was.Scope != next.Scope {
		return nil
	}
	a.compare(op, next, was.Recipe)
	if live != nil || a.problems.Len() > n {
		return nil
	}
	a.renamed[id] = true
	return before(next, was)
}

// before returns the recipes that came before next, if was did.
func before(next Recipe, was Operation) []Recipe {
	if next.same(was.Recipe) {
		return slices.Clone(was.Previous)
	}
	return append([]Recipe{was.Recipe}, was.Previous...)
}

// compare reports what must not happen from one recipe to the next.
func (a *advance) compare(op *model.Operation, next, was Recipe) {
	switch {
	case next.same(was) || next.Version > was.Version:
	case next.Version < was.Version:
		a.problems.Addf(diag.VersionLowered, keyPos(op),
			fmt.Sprintf("write keyVersion: %d, or raise it; if version %[1]d never ran anywhere, take the lock from version control too", was.Version),
			"operation %s: keyVersion went down from %d to %d: keys stored under version %[2]d would not be found, and their duplicates processed again",
			op.ID, was.Version, next.Version)
	default:
		lost := "what was processed under the old one would not be found, and its duplicates processed again"
		fix := fmt.Sprintf("raise keyVersion to %d: both recipes are then looked up; or take the change back", was.Version+1)
		switch {
		case was.Scope != next.Scope:
			fix = fmt.Sprintf("write scope: %s, or raise keyVersion to %d to give the old records up", was.Scope, was.Version+1)
		case slices.Equal(was.Key, next.Key):
			lost = "duplicates of what was processed under the old one would be taken for other messages with a reused key"
		}
		a.problems.Addf(diag.RecipeChanged, keyPos(op), fix,
			"operation %s: the key recipe changed under keyVersion %d: it was %s and is now %s: %s",
			op.ID, was.Version, was, next, lost)
	}
}

func keyPos(op *model.Operation) diag.Pos {
	if op.KeyPos.Line > 0 {
		return op.KeyPos
	}
	return op.Pos
}

// Lookups returns the recipes that the engine has to look up as well: those
// of the scope that the operation has now.
func (o Operation) Lookups() []Recipe {
	var out []Recipe
	for _, p := range o.Previous {
		if p.Scope == o.Scope {
			out = append(out, p)
		}
	}
	return out
}
