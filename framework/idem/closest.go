package idem

import "strings"

// Closest returns the known name that a misspelt one probably means, and ""
// when none is near. Case does not count.
func Closest(name string, known []string) string {
	if len(name) > 128 { // longer than any of ours
		return ""
	}
	best, found := len([]rune(name))/5+2, ""
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < best {
			best, found = d, k
		}
	}
	return found
}

// distance is the number of characters to insert, delete, replace or swap with
// their neighbour to turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	rows := [3][]int{} // the row before the last, the last, this one
	for i := range rows {
		rows[i] = make([]int, len(t)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(s); i++ {
		rows[2][0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			rows[2][j] = min(rows[1][j]+1, rows[2][j-1]+1, rows[1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				rows[2][j] = min(rows[2][j], rows[0][j-2]+1)
			}
		}
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
	}
	return rows[1][len(t)]
}
