// Package names makes Go identifiers of the names of a contract: one function
// for every use, so that definition and use never differ.
package names

import (
	"fmt"
	"strings"
	"unicode"
)

// initialisms are words that Go writes in capitals.
var initialisms = map[string]bool{
	"api": true, "cnpj": true, "cpf": true, "csv": true, "db": true, "html": true, "http": true, "https": true, "id": true,
	"ip": true, "json": true, "nfe": true, "sku": true, "sms": true, "sql": true, "ttl": true, "uri": true, "url": true, "utc": true,
	"uuid": true, "xml": true,
}

// Go returns the exported Go identifier for any text. It is ASCII and never
// empty: words are told apart by what is no letter or digit and by capitals,
// letters of Portuguese and its neighbours lose their accents, and a name that
// would not begin with a letter gets an N before it (an X and its code points, if
// nothing of it can be written).
func Go(s string) string {
	var b strings.Builder
	for _, word := range words(ascii(s)) {
		if lower := strings.ToLower(word); initialisms[lower] {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	name := b.String()
	switch {
	case name == "":
		name = "X"
		for _, r := range s {
			name += fmt.Sprintf("%04X", r)
		}
	case name[0] >= '0' && name[0] <= '9':
		name = "N" + name
	}
	return name
}

// words splits at capitals that follow a small letter or begin a word after
// capitals, and at whatever is no letter or digit.
func words(s string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, s[start:end])
		}
		start = end
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case !isAlnum(c):
			cut(i)
			start = i + 1
		case isUpper(c) && i > start && (!isUpper(s[i-1]) || i+1 < len(s) && isLower(s[i+1])):
			cut(i)
		}
	}
	cut(len(s))
	return out
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isAlnum(c byte) bool { return isUpper(c) || isLower(c) || '0' <= c && c <= '9' }

// accents are the letters that Portuguese, Spanish, French, German and their
// neighbours add to ASCII.
var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "ä", "a", "å", "a", "æ", "ae", "ç", "c", "é", "e", "è", "e", "ê", "e", "ë", "e",
	"í", "i", "ì", "i", "î", "i", "ï", "i", "ñ", "n", "ó", "o", "ò", "o", "ô", "o", "õ", "o", "ö", "o", "ø", "o", "œ", "oe",
	"ú", "u", "ù", "u", "û", "u", "ü", "u", "ý", "y", "ÿ", "y", "ß", "ss",
	"Á", "A", "À", "A", "Â", "A", "Ã", "A", "Ä", "A", "Å", "A", "Æ", "AE", "Ç", "C", "É", "E", "È", "E", "Ê", "E", "Ë", "E",
	"Í", "I", "Ì", "I", "Î", "I", "Ï", "I", "Ñ", "N", "Ó", "O", "Ò", "O", "Ô", "O", "Õ", "O", "Ö", "O", "Ø", "O", "Œ", "OE",
	"Ú", "U", "Ù", "U", "Û", "U", "Ü", "U", "Ý", "Y",
)

// ascii writes accented letters without accents, drops combining marks, and puts
// a separator where something else cannot be written.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case unicode.Is(unicode.Mn, r):
			return -1
		default:
			return '_'
		}
	}, accents.Replace(s))
}
