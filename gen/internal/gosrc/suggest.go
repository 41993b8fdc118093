package gosrc

import (
	"slices"
	"strings"
)

func contains[T comparable](list []T, v T) bool { return slices.Contains(list, v) }

// suggest is the fix for an unknown name: the closest that there is, or all.
func suggest(name string, known []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return "did you mean " + best + "?"
	case len(known) == 0:
		return ""
	default:
		return "there are " + strings.Join(known, ", ")
	}
}

// distance counts the letters to insert, remove or change to get from a to b.
func distance(a, b string) int {
	if len(a) > 64 { // nobody meant a name as long as this
		return len(a)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
