// Package gomsg is a contract in Go that holds its members in every way there
// is, for the tests of the Validate methods that idemgen writes for it.
package gomsg

import (
	"encoding/json"
	"time"

	"github.com/idem-go/idem/framework/contract"
)

// All has everything.
//
//idem:send name=sendAll topic=all.v1
type All struct {
	Base

	Text     string `json:"text" idem:"minLength=2,maxLength=3"`
	Code     Code   `json:"code" idem:"pattern='^[a-z]+$'"`
	Small    int8   `json:"small" idem:"max=100"`
	Wide     uint64 `json:"wide" idem:"multipleOf=3"`
	Ratio    Ratio  `json:"ratio" idem:"min=0.1,max=0.5,multipleOf=0.1"`
	Status   Status `json:"status"`
	Level    Level  `json:"level"`
	Fixed    string `json:"fixed" idem:"const=x"`
	Flag     bool   `json:"flag" idem:"const=true"`
	Inner    Inner  `json:"inner"`
	At       time.Time
	Day      string                     `json:"day" idem:"format=date"`
	Nullable *int                       `json:"nullable" idem:"min=1"`
	NullObj  *Inner                     `json:"nullObj"`
	Opt      *string                    `json:"opt,omitzero" idem:"minLength=1"`
	OptZero  string                     `json:"optZero,omitzero" idem:"minLength=2"`
	OptNum   int32                      `json:"optNum,omitempty" idem:"min=5"`
	OptObj   Inner                      `json:"optObj,omitzero"`
	OptFlag  bool                       `json:"optFlag,omitzero" idem:"const=true"`
	OptTime  time.Time                  `json:"optTime,omitzero"`
	Both     contract.Optional[int]     `json:"both,omitzero" idem:"min=1"`
	BothObj  contract.Optional[Inner]   `json:"bothObj,omitzero"`
	BothEnum contract.Optional[Status]  `json:"bothEnum,omitzero"`
	BothTime contract.Optional[[]Inner] `json:"bothTime,omitzero"`
	List     []Code                     `json:"list" idem:"minItems=1,uniqueItems,each.minLength=1"`
	Plain    []string                   `json:"plain"`
	OptList  []*Inner                   `json:"optList,omitzero" idem:"maxItems=2"`
	Matrix   [][]Ratio                  `json:"matrix,omitzero" idem:"each.each.max=1"`
	Map      map[string]*Level          `json:"map,omitzero" idem:"maxProperties=1"`
	Objects  map[string]Inner           `json:"objects,omitzero"`
	Raw      json.RawMessage            `json:"raw"`
	OptRaw   json.RawMessage            `json:"optRaw,omitzero"`
	Unique   []Inner                    `json:"unique,omitzero" idem:"uniqueItems"`
	Times    []time.Time                `json:"times,omitzero"`
	Next     *All                       `json:"next,omitzero"`
}

// Base is embedded.
type Base struct {
	Number int64 `json:"number" idem:"min=1"`
}

// Inner is a part.
type Inner struct {
	Name string `json:"name" idem:"minLength=1"`
}

// Free has no rules.
//
//idem:send name=sendFree topic=free.v1
type Free struct {
	A int  `json:"a"`
	B bool `json:"b"`
}

type (
	// Code is text.
	Code string
	// Ratio is a float32.
	Ratio float32
	// Status is one of the constants.
	Status string
	// Level is one of the constants.
	Level int16
)

// The constants.
const (
	Open Status = "open"
	Done Status = "done"

	Low  Level = 1
	High Level = 2
)
