package model

import "github.com/idem-go/idem/gen/internal/diag"

// Kind is the kind of a Type.
type Kind int

// The kinds of type.
const (
	// Raw is any JSON value, kept as it is.
	Raw Kind = iota
	Bool
	// Int is a 64-bit integer: int64, or uint64 if Unsigned.
	Int
	// Float is a float64.
	Float
	// String is text; Format may give it a meaning.
	String
	// Object is a struct of Fields.
	Object
	// MapOf is an object with any names and values of Elem.
	MapOf
	// Array is a list of Elem.
	Array
	// Union is exactly one of Variants.
	Union
)

// Type is the type of a value. A Type with a Name is declared once under that
// name and may refer to itself; one without is written where it is used.
type Type struct {
	// Name is the exported Go name, "" for one that needs no declaration.
	// Object and Union always have one; String and Int have one if they have
	// an Enum.
	Name        string
	Kind        Kind
	Description string

	// Declared says that the user's own Go code holds the type (Go input): it
	// is not declared again, only its Validate is missing. So it is with every
	// type of such a contract, but for headers that only a key asks for. A
	// String or Int with an Enum may then be without Name.
	Declared bool
	// GoType of a Declared type is its Go type where that is not text, though
	// the Kind is String: "time.Time" or "uuid.UUID". Such a value needs no
	// check. "" else.
	GoType string

	// Enum is the list of allowed values of a String or Int, as text (an
	// integer as in JSON); nil is any. OpenEnum lets others pass.
	Enum     []EnumValue
	OpenEnum bool
	// Const of a String, Int, Float or Bool: the only allowed value, as JSON;
	// "" is none. A const is never an Enum as well.
	Const string

	// Format of a String: "", date-time, date, time, uuid, email or uri. The Go type
	// stays string: nothing is lost or rewritten on the way.
	Format string
	// MinLength and MaxLength of a String count characters; nil is no bound.
	MinLength, MaxLength *int
	// Pattern of a String, a regular expression of RE2 that need not match
	// the whole; "" is none.
	Pattern string

	// Unsigned makes an Int a uint64 instead of int64.
	Unsigned bool
	// Bounds of Int and Float, as JSON numbers; "" is none.
	Minimum, Maximum, ExclusiveMinimum, ExclusiveMaximum, MultipleOf string

	// Elem of MapOf and Array, with whether it may be null.
	Elem         *Type
	ElemNullable bool
	// MinItems and MaxItems of an Array, or the number of members of a MapOf
	// and Object; nil is no bound.
	MinItems, MaxItems *int
	UniqueItems        bool

	// Fields of an Object, in the contract's order.
	Fields []*Field
	// Closed refuses members that are not among Fields.
	Closed bool
	// Extra is the type of members that are not among Fields; nil ignores
	// them. ExtraNullable lets them be null.
	Extra         *Type
	ExtraNullable bool

	// Variants of a Union, at least two, told apart by Discriminator: the
	// name of a member that each variant requires, with one constant each. If
	// it is "" they are told apart by their JSON types, of which no two are the same.
	Variants      []*Variant
	Discriminator string

	Pos    diag.Pos
	Source string
}

// Field is a member of an Object.
type Field struct {
	// Name is the member's name in JSON, GoName the exported field's.
	Name, GoName string
	Description  string
	Type         *Type
	// Required says that the member must be there, Nullable that it may be
	// null.
	Required, Nullable bool
	// ZeroAbsent says of an optional member of a Declared type that the user's
	// struct holds it by value, not by pointer: its zero value is absent.
	ZeroAbsent bool
	// Indirect says that an object which could be held by value is not, or its
	// owner would contain itself or be very large.
	Indirect bool
	Pos      diag.Pos
}

// Variant is one alternative of a Union.
type Variant struct {
	// GoName is the exported field of the union's struct.
	GoName string
	Type   *Type
	// Value is the discriminator's value; "" without discriminator.
	Value string
}

// EnumValue is an allowed value and the Go name of its constant.
type EnumValue struct {
	Value  string
	GoName string
}
