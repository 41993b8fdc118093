package idem

import (
	"bytes"
	"strconv"
	"strings"
)

// plainDigits is how many digits a number may have to be written without an exponent.
const plainDigits = 64

// numberText writes a valid JSON number in the one way that all numbers of its
// value share, without rounding: 1, 1.0 and 10e-1 are "1", 0.50 is "0.5". A
// number whose exponent nobody can mean stays as it is written.
func numberText(n []byte) string {
	if plainInteger(n) {
		return string(n)
	}
	text, sign := n, ""
	if text[0] == '-' {
		text, sign = text[1:], "-"
	}
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.ParseInt(string(text[i+1:]), 10, 32)
		if err != nil {
			return string(n)
		}
		mantissa, exponent = text[:i], int(e)
	}
	whole, fraction, _ := strings.Cut(string(mantissa), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	switch {
	case significant == "":
		return "0"
	case exponent >= 0 && len(significant)+exponent <= plainDigits:
		return sign + significant + strings.Repeat("0", exponent)
	case exponent < 0 && max(len(significant), -exponent) <= plainDigits:
		point := len(significant) + exponent
		if point <= 0 {
			return sign + "0." + strings.Repeat("0", -point) + significant
		}
		return sign + significant[:point] + "." + significant[point:]
	default:
		return sign + significant + "e" + strconv.Itoa(exponent)
	}
}

// plainInteger reports whether a number is an integer that is written in its
// digits already, as nearly all are.
func plainInteger(n []byte) bool {
	return len(n) <= plainDigits && !bytes.ContainsAny(n, ".eE") && (n[0] != '-' || len(n) > 1 && n[1] != '0')
}
