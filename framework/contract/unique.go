package contract

import "encoding/json"

// Distinct reports whether no two elements are equal.
func Distinct[T comparable](list []T) bool {
	if len(list) <= 16 { // without memory
		for i := range list {
			for j := range i {
				if list[i] == list[j] {
					return false
				}
			}
		}
		return true
	}
	seen := make(map[T]struct{}, len(list))
	for _, e := range list {
		seen[e] = struct{}{}
	}
	return len(seen) == len(list)
}

// DistinctJSON reports whether no two elements are equal as JSON, or do not
// encode.
func DistinctJSON[T any](list []T) bool {
	data, err := json.Marshal(list)
	return err != nil || list == nil || NewDecoder(data).ahead().unique()
}

// OneOf reports whether v is one of the values.
func OneOf[T comparable](v T, values ...T) bool {
	for _, other := range values {
		if v == other {
			return true
		}
	}
	return false
}
