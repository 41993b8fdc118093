package render

import (
	"math"
	"math/big"
	"strconv"
)

// integerText is an integer in digits, however JSON has written it.
func integerText(s string) string {
	r, ok := new(big.Rat).SetString(s)
	if !ok || !r.IsInt() {
		return s
	}
	return r.Num().String()
}

// intBound is a condition on an integer: operator and number in Go. It is
// empty if every value of the type meets it; none meets > the greatest value
// or < the least.
type intBound struct{ operator, number string }

// leastInt is the condition of a minimum, mostInt that of a maximum.
func leastInt(bound string, exclusive, unsigned bool) intBound {
	n := ceiling(rational(bound), exclusive)
	least, most := intRange(unsigned)
	switch {
	case n.Cmp(least) <= 0:
		return intBound{}
	case n.Cmp(most) > 0:
		return intBound{">", most.String()}
	}
	return intBound{">=", n.String()}
}

func mostInt(bound string, exclusive, unsigned bool) intBound {
	n := new(big.Int).Neg(ceiling(new(big.Rat).Neg(rational(bound)), exclusive))
	least, most := intRange(unsigned)
	switch {
	case n.Cmp(most) >= 0:
		return intBound{}
	case n.Cmp(least) < 0:
		return intBound{"<", least.String()}
	}
	return intBound{"<=", n.String()}
}

func intRange(unsigned bool) (least, most *big.Int) {
	if unsigned {
		return new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
	}
	return big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
}

// ceiling is the least integer that is at least r, or above it.
func ceiling(r *big.Rat, above bool) *big.Int {
	n := new(big.Int).Neg(r.Num())
	n.Neg(n.Div(n, r.Denom())) // Div rounds down
	if above && r.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return n
}

func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return new(big.Rat)
	}
	return r
}

// intDivisor is the integer whose multiples are, among the integers, those of
// a number.
func intDivisor(of string) *big.Int { return rational(of).Num() }

// floatBound is the condition of a bound on a float64: the operator and a
// float64 in Go. A float64 counts as the shortest number that reads as it;
// therefore the bound need not be a float64 for the answer to be exact.
func floatBound(bound string, minimum, exclusive bool) (operator, number string) {
	r := rational(bound)
	f, _ := r.Float64()
	operator = "<"
	if minimum {
		operator = ">"
	}
	if math.IsInf(f, 0) {
		if (f > 0) != minimum {
			return "", "" // every number meets it
		}
		return operator, strconv.FormatFloat(math.Copysign(math.MaxFloat64, f), 'g', -1, 64)
	}
	number = strconv.FormatFloat(f, 'g', -1, 64)
	side := rational(number).Cmp(r) // of the float64 that is next to the bound
	if !minimum {
		side = -side
	}
	if side > 0 || side == 0 && !exclusive {
		operator += "="
	}
	return operator, number
}
