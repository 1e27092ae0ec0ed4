package kaged

import (
	"fmt"

	"github.com/patchbay-dev/patchbay/rawjson"
)

// A position is a place in the manifest, both numbers from 1.
type position struct{ line, column int }

// A yamlKind is what a YAML value is.
type yamlKind int

const (
	kindNull yamlKind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindMap
)

// String names the kind as it stands in "must be …, got …".
func (k yamlKind) String() string {
	switch k {
	case kindBool:
		return "a boolean"
	case kindNumber:
		return "a number"
	case kindString:
		return "a string"
	case kindList:
		return "a list"
	case kindMap:
		return "a mapping"
	default:
		return "nothing"
	}
}

// A yamlNode is one value of the manifest. The checks see only this: no
// aliases, no tags, no styles.
type yamlNode struct {
	kind   yamlKind
	at     position
	text   string // a string's value; a number or boolean as JSON writes it
	items  []*yamlNode
	fields []yamlField
}

// A yamlField is one key of a mapping and its value.
type yamlField struct {
	name  string
	at    position // of the key
	value *yamlNode
}

// field returns the named field of a mapping, nil where there is none.
func (n *yamlNode) field(name string) *yamlField {
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	return nil
}

// appendJSON writes n as compact JSON: keys in the order of the file, numbers
// digit by digit as they stand there.
func (n *yamlNode) appendJSON(dst []byte) []byte {
	switch n.kind {
	case kindString:
		return rawjson.AppendString(dst, n.text)
	case kindNumber, kindBool:
		return append(dst, n.text...)
	case kindList:
		dst = append(dst, '[')
		for i, item := range n.items {
			dst = item.appendJSON(comma(dst, i))
		}
		return append(dst, ']')
	case kindMap:
		dst = append(dst, '{')
		for i, f := range n.fields {
			dst = append(rawjson.AppendString(comma(dst, i), f.name), ':')
			dst = f.value.appendJSON(dst)
		}
		return append(dst, '}')
	default:
		return append(dst, "null"...)
	}
}

func comma(dst []byte, i int) []byte {
	if i == 0 {
		return dst
	}
	return append(dst, ',')
}

// itemPath names an entry of the list parent.
func itemPath(parent string, i int) string { return fmt.Sprintf("%s[%d]", parent, i) }
