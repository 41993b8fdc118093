package idem

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var errNotJSON = errors.New("payload is not usable JSON")

// jsonDoc reads single values out of a JSON payload. The payload is checked
// once, at the first lookup, and then scanned in place: no tree is built, no
// number goes through a float, and no text loses bytes. Of repeated members
// the last wins, as in encoding/json. Nil is a document without content. Not
// safe for concurrent use.
type jsonDoc struct {
	payload []byte
	checked bool
	err     error
}

func newDoc(payload []byte) *jsonDoc { return &jsonDoc{payload: payload} }

// check returns an error that wraps errNotJSON when nothing can be looked up.
func (d *jsonDoc) check() error {
	if d == nil {
		return errNotJSON
	}
	if !d.checked {
		d.checked = true
		d.err = checkJSON(d.payload)
	}
	return d.err
}

// checkJSON does not pass on what encoding/json says, which quotes the payload.
func checkJSON(payload []byte) error {
	if json.Valid(payload) {
		return nil
	}
	if len(payload) == 0 {
		return fmt.Errorf("%w: it is empty", errNotJSON)
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(payload, new(json.RawMessage)), &syntax) {
		return fmt.Errorf("%w: syntax error at byte %d", errNotJSON, syntax.Offset)
	}
	return errNotJSON
}

type jsonKind byte

const (
	kindAbsent jsonKind = iota
	kindNull
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

func (k jsonKind) String() string {
	return [...]string{"absent", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// scalar reports whether values of the kind have a text.
func (k jsonKind) scalar() bool { return k == kindBool || k == kindNumber || k == kindString }

// lookup returns the value at a JSON pointer: a string decoded, a number as
// numberText writes it, a boolean as it is, "" for every other kind. In a payload that is not
// JSON everything is absent.
func (d *jsonDoc) lookup(pointer string) (text string, kind jsonKind) {
	c, ok := d.seek(pointer)
	if !ok {
		return "", kindAbsent
	}
	return c.scalar()
}

func (d *jsonDoc) seek(pointer string) (jsonCursor, bool) {
	if d.check() != nil {
		return jsonCursor{}, false
	}
	c := jsonCursor{text: d.payload}
	c.space()
	for pointer != "" {
		token := pointer[1:]
		if end := strings.IndexByte(token, '/'); end >= 0 {
			token = token[:end]
		}
		pointer = pointer[1+len(token):]
		if !c.enter(unescapePointer(token)) {
			return jsonCursor{}, false
		}
	}
	return c, true
}

func unescapePointer(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// checkPointer reports what is wrong with a JSON pointer (RFC 6901), "" if nothing.
func checkPointer(pointer string) string {
	if pointer != "" && pointer[0] != '/' {
		return "must start with '/'"
	}
	for i := range len(pointer) {
		if pointer[i] == '~' && (i+1 == len(pointer) || pointer[i+1] != '0' && pointer[i+1] != '1') {
			return "has a '~' that is not part of '~0' (for '~') or '~1' (for '/')"
		}
	}
	return ""
}

// maxDigestDepth bounds the recursion of digest.
const maxDigestDepth = 1000

var errTooDeep = fmt.Errorf("%w: nested deeper than %d levels", errNotJSON, maxDigestDepth)

type digest = [sha256.Size]byte

// digest returns a hash of the value at a JSON pointer that depends neither on
// white space nor on the order of members. An absent value has one, too.
func (d *jsonDoc) digest(pointer string) (digest, error) {
	if err := d.check(); err != nil {
		return digest{}, err
	}
	c, ok := d.seek(pointer)
	if !ok {
		return digest{}, nil
	}
	return c.digest(maxDigestDepth)
}

func (c *jsonCursor) digest(depth int) (digest, error) {
	if depth == 0 {
		return digest{}, errTooDeep
	}
	text, kind := c.scalar()
	switch kind {
	case kindNull:
		return sha256.Sum256([]byte{'n'}), nil
	case kindArray:
		items := []byte{'a'}
		for c.first(); c.text[c.pos] != ']'; c.space() {
			sum, err := c.digest(depth - 1)
			if err != nil {
				return sum, err
			}
			items = append(items, sum[:]...)
		}
		c.pos++
		return sha256.Sum256(items), nil
	case kindObject:
		members := map[string]digest{}
		for c.first(); c.text[c.pos] != '}'; c.space() {
			name := unquote(c.str())
			c.space()
			sum, err := c.digest(depth - 1)
			if err != nil {
				return sum, err
			}
			members[name] = sum
		}
		c.pos++
		return digestOf(members), nil
	default:
		return sha256.Sum256([]byte("s" + text)), nil
	}
}

func digestOf(members map[string]digest) digest {
	out := []byte{'o'}
	for _, name := range sortedKeys(members) {
		sum := members[name]
		out = binary.AppendUvarint(out, uint64(len(name)))
		out = append(out, name...)
		out = append(out, sum[:]...)
	}
	return sha256.Sum256(out)
}
