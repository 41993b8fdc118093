package idem

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// KeyRecipe says where the idempotency key of a message is. A key must come
// from the producer and stay the same each time the message is sent.
//
// A key of one part is that part's text as it is, so that people find it in
// the database; several parts read |stripe|pay_1|paid. A key that would be
// longer than 256 bytes, is not UTF-8 or has control characters becomes
// sha256:… of its exact bytes. Different values never share a key, whatever
// separators they contain.
type KeyRecipe struct {
	// Parts are read in order; all must be present.
	Parts []KeyPart
	// Version must be raised when Parts change: keys of different versions
	// never match, except for those of Previous. 0 means 1.
	Version int
	// Previous are the recipes of earlier versions, for as long as their keys are
	// remembered ([Operation.Retention]) after the last program that uses them
	// has stopped. A message is looked up under all its keys, so one that was
	// processed under an older recipe is a duplicate, also while both versions
	// of the program run side by side. A message that an older recipe has no key
	// for is looked up under the others.
	//
	// A message that was first seen under an older recipe, and is retried or
	// replayed, goes by its old key to the end: third parties know it by that.
	//
	// A record found under an older key counts only if its fingerprint is the
	// message's, so messages that a coarser recipe took for the same are told
	// apart; with Fingerprint.None the key alone counts. Messages that share an
	// older key wait for each other while they are processed.
	Previous []KeyRecipe
	// Fingerprint of a recipe in Previous is what [Operation.Fingerprint] was
	// while that recipe was in use, for the records written then. Nil: the same
	// as now. It must be nil in the recipe of the operation itself.
	Fingerprint *Fingerprint
}

// KeyPart is one source of a key: a header or a JSON pointer (RFC 6901) into
// the payload. Exactly one is set.
//
// Header names are matched exactly; of a repeated header or member the last
// counts. Text is compared byte by
// byte: nothing is trimmed, folded or normalised. A number counts by its
// value, whatever library has written it: 1, 1.0 and 1e0 are one key, and no
// digit of a large one is lost. The number 1 and the string "1" are the same
// key, because producers disagree about the quotes.
//
// A part that is absent, null, an object or an array, or whose text is empty
// or shows nothing (white space, invisible characters, zero bytes) makes the
// key missing; see [ErrMissingKey].
type KeyPart struct{ Header, Pointer string }

// KeyFrom is the recipe of version 1 with the given parts.
func KeyFrom(parts ...KeyPart) KeyRecipe { return KeyRecipe{Parts: parts} }

// FromHeader is a key part read from a header.
func FromHeader(name string) KeyPart { return KeyPart{Header: name} }

// FromPayload is a key part read from the payload, such as "/order/id".
func FromPayload(pointer string) KeyPart { return KeyPart{Pointer: pointer} }

// Validate returns everything that is wrong with the recipe, joined.
func (r KeyRecipe) Validate() error {
	var e fieldErrors
	e.check(r.Version >= 0, "version", "must not be negative, is %d", r.Version)
	e.check(len(r.Parts) > 0, "parts", "must name at least one header or JSON pointer")
	for i, p := range r.Parts {
		field := fmt.Sprintf("parts[%d]", i)
		e.check(p.Header != "" || p.Pointer != "", field, "must have a header or a pointer")
		e.check(p.Header == "" || p.Pointer == "", field, "must have a header or a pointer, has both: use two parts for a composite key")
		e.check(!strings.HasPrefix(p.Header, HeaderPrefix), field+".header", "must not be %q: headers of idem change from hop to hop", p.Header)
		problem := checkPointer(p.Pointer)
		e.check(problem == "", field+".pointer", "%s, is %q", problem, p.Pointer)
	}
	last := r.version()
	for i, p := range r.Previous {
		field := fmt.Sprintf("previous[%d]", i)
		if err := p.Validate(); err != nil {
			e = append(e, fmt.Errorf("%s: %w", field, err))
		}
		if p.Fingerprint != nil {
			if err := p.Fingerprint.Validate(); err != nil {
				e = append(e, fmt.Errorf("%s.fingerprint: %w", field, err))
			}
		}
		e.check(len(p.Previous) == 0, field+".previous", "must be empty: list every recipe in one list")
		e.check(p.version() < last, field+".version", "must be below that of the recipe before it, which is %d, is %d: newest first", last, p.version())
		last = p.version()
	}
	return e.join()
}

func (r KeyRecipe) version() int { return max(r.Version, 1) }

// extract reads the key of a message. Its error wraps [ErrMissingKey], names
// the part, and wraps errNotJSON when that is why.
func (r KeyRecipe) extract(headers []Header, doc *jsonDoc) (string, error) {
	if len(r.Parts) == 0 {
		return "", fmt.Errorf("%w: the recipe has no parts", ErrMissingKey)
	}
	values := make([]string, len(r.Parts))
	for i, part := range r.Parts {
		value, err := part.read(headers, doc)
		if err != nil {
			return "", fmt.Errorf("%w: parts[%d], %s: %w", ErrMissingKey, i, part, err)
		}
		values[i] = value
	}
	return encodeKey(r.Version, values...), nil
}

func (p KeyPart) String() string {
	if p.Header != "" {
		return fmt.Sprintf("header %q", p.Header)
	}
	return fmt.Sprintf("payload %q", p.Pointer)
}

func (p KeyPart) read(headers []Header, doc *jsonDoc) (string, error) {
	var value string
	if p.Header != "" {
		v, ok := headerValue(headers, p.Header)
		if !ok {
			return "", errors.New("absent")
		}
		value = v
	} else {
		if err := doc.check(); err != nil {
			return "", err
		}
		v, kind := doc.lookup(p.Pointer)
		if !kind.scalar() {
			return "", errors.New(kind.String())
		}
		value = v
	}
	if blank(value) {
		return "", errors.New("blank")
	}
	return value, nil
}

// blank reports whether s identifies nothing: empty, or only characters that
// cannot be seen, or only zero bytes, which is an identifier nobody has set.
func blank(s string) bool {
	if strings.Trim(s, "\x00") == "" {
		return true
	}
	for _, r := range s {
		if !unicode.In(r, unicode.White_Space, unicode.Z, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return false
		}
	}
	return true
}

const (
	// maxKeyBytes is what every store can index.
	maxKeyBytes = 256

	compositeMark = "|"
	hashedMark    = "sha256:"
)

// encodeKey turns values into one key, injectively: a list of values is
// written with a leading mark and escaped separators, a hash covers whether it
// was a list, and a single value that looks like any of our marks is hashed.
func encodeKey(version int, values ...string) string {
	var prefix string
	if version > 1 {
		prefix = "v" + strconv.Itoa(version) + ":"
	}
	single := len(values) == 1
	key := strings.Join(values, "")
	if !single {
		escape := strings.NewReplacer(`\`, `\\`, compositeMark, `\`+compositeMark)
		var list strings.Builder
		for _, v := range values {
			list.WriteString(compositeMark)
			list.WriteString(escape.Replace(v))
		}
		key = list.String()
	}
	if len(prefix)+len(key) > maxKeyBytes || !printable(key) || single && looksMarked(key) {
		sum := sha256.Sum256([]byte(strconv.FormatBool(single) + key))
		key = hashedMark + hex.EncodeToString(sum[:])
	}
	return prefix + key
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// looksMarked reports whether a plain value could be taken for a composite, hashed
// or versioned key.
func looksMarked(s string) bool {
	if strings.HasPrefix(s, compositeMark) || strings.HasPrefix(s, hashedMark) {
		return true
	}
	digits, ok := strings.CutPrefix(s, "v")
	rest := strings.TrimLeft(digits, "0123456789")
	return ok && rest != digits && strings.HasPrefix(rest, ":")
}
