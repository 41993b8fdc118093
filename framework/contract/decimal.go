package contract

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// decimal is a number as it is written: coefficient × 10^exponent. The
// coefficient has no zeros at its end, unless it is 0.
type decimal struct {
	negative bool
	digits   string // of the coefficient; "" is 0
	exponent int
}

// maxExponent bounds exponents; nothing beyond it fits 64 bits.
const maxExponent = 1 << 20

// parseDecimal reads a valid JSON number.
func parseDecimal(n []byte) decimal {
	var v decimal
	digits := make([]byte, 0, len(n))
	i := 0
	if n[0] == '-' {
		v.negative, i = true, 1
	}
	fraction := false
loop:
	for ; i < len(n); i++ {
		switch c := n[i]; c {
		case '.':
			fraction = true
		case 'e', 'E':
			e, err := strconv.Atoi(string(n[i+1:]))
			if err != nil || e > maxExponent || e < -maxExponent {
				e = maxExponent
				if n[i+1] == '-' {
					e = -maxExponent
				}
			}
			v.exponent += e
			break loop
		default:
			if c != '0' || len(digits) > 0 {
				digits = append(digits, c)
			}
			if fraction {
				v.exponent--
			}
		}
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		v.exponent++
	}
	if v.digits = string(digits); v.digits == "" {
		v = decimal{}
	}
	return v
}

// String is the one way in which equal numbers are written alike.
func (v decimal) String() string {
	if v.digits == "" {
		return "0"
	}
	s := v.digits + "e" + strconv.Itoa(v.exponent)
	if v.negative {
		return "-" + s
	}
	return s
}

// whole is an integer; overflow says that it does not fit.
type whole struct {
	negative, overflow bool
	size               uint64
}

// integer returns the integer that the number is, if it is one.
func (v decimal) integer() (whole, bool) {
	w := whole{negative: v.negative}
	if v.digits == "" {
		return w, true
	}
	if v.exponent < 0 {
		return w, false
	}
	n, err := strconv.ParseUint(v.digits, 10, 64)
	w.overflow = err != nil || v.exponent > 19
	for range v.exponent {
		if w.overflow {
			break
		}
		var high uint64
		high, n = bits.Mul64(n, 10)
		w.overflow = high > 0
	}
	w.size = n
	return w, true
}

// MultipleOf reports whether f, as it is written in JSON, is a multiple of a
// positive number written as in JSON. It computes exactly: 0.3 is a multiple
// of 0.1.
func MultipleOf(f float64, of string) bool {
	if f == 0 {
		return true
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return false
	}
	var buf [32]byte
	a, b := parseDecimal(strconv.AppendFloat(buf[:0], f, 'e', -1, 64)), parseDecimal([]byte(of))
	x, errA := strconv.ParseUint(a.digits, 10, 64)
	y, errB := strconv.ParseUint(b.digits, 10, 64)
	if errA != nil || errB != nil || y == 0 {
		return multipleOfBig(a, b)
	}
	shift := a.exponent - b.exponent
	for ; shift < 0; shift++ { // x must be a multiple of y × 10^-shift
		high, low := bits.Mul64(y, 10)
		if high > 0 || low > x {
			return false
		}
		y = low
	}
	x %= y
	for ; shift > 0 && x > 0; shift-- {
		high, low := bits.Mul64(x, 10)
		x = bits.Rem64(high, low, y)
	}
	return x == 0
}

func multipleOfBig(a, b decimal) bool {
	x, ok1 := new(big.Rat).SetString(a.String())
	y, ok2 := new(big.Rat).SetString(b.String())
	return ok1 && ok2 && y.Sign() != 0 && x.Quo(x, y).IsInt()
}

// IsFinite reports whether JSON has the number: it is neither infinite nor NaN.
func IsFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// Float returns the float64 that is written like f in JSON.
func Float[T ~float32 | ~float64](f T) float64 {
	if least := T(math.SmallestNonzeroFloat32); least/2 != 0 { // T is a float64
		return float64(f)
	}
	wide, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return float64(f)
	}
	return wide
}

// plain writes an integer in digits, as far as that is short.
func (v decimal) plain() string {
	w, ok := v.integer()
	switch {
	case !ok || w.overflow:
		return v.String()
	case w.negative:
		return "-" + strconv.FormatUint(w.size, 10)
	default:
		return strconv.FormatUint(w.size, 10)
	}
}
