package diag

import "strings"

// Suggest is the fix for an unknown name: the closest that there is, or all of
// them if none is close and they are few.
func Suggest(name string, names []string) string {
	if best := Closest(name, names); best != "" {
		return "did you mean " + best + "?"
	}
	if len(names) == 0 || len(names) > 25 {
		return ""
	}
	return "there are " + strings.Join(names, ", ")
}

// Closest returns the name that is nearest to the given one, or "" if none is
// near enough to be a slip of the pen.
func Closest(name string, names []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n), least); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters must be put in, taken out, changed or swapped
// with the next to make b of a; limit if it is no less than that.
func distance(a, b string, limit int) int {
	s, t := []rune(a), []rune(b)
	if len(s)-len(t) >= limit || len(t)-len(s) >= limit {
		return limit
	}
	var before []int
	above := make([]int, len(t)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(t)+1)
		row[0] = i
		for j := 1; j <= len(t); j++ {
			change := 1
			if s[i-1] == t[j-1] {
				change = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+change)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return min(above[len(t)], limit)
}
