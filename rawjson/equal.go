package rawjson

import "bytes"

// Equal reports whether two compact JSON values mean the same, without decoding them. Strings may
// be escaped differently, and the fields of an object may be in another order. Numbers are compared
// as they are written. An empty slice equals only another empty slice, not null.
//
// If the comparison would take too long, it may return false although the values mean the same.
// That holds for objects with a repeated name, and for objects whose fields are in another order at
// very many levels.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	c := comparison{a: a, b: b, left: mostPasses * (len(a) + len(b))}
	i, j, same := c.values(0, 0)
	return same && i == len(a) && j == len(b)
}

// mostPasses is how often all bytes may be read again because of fields in another order.
const mostPasses = 16

// A comparison walks two values at once.
type comparison struct {
	a, b []byte
	left int // bytes that may still be read again
}

// values compares the values at a[i] and b[j], and returns the indexes after them.
func (c *comparison) values(i, j int) (endA, endB int, same bool) {
	kind := at(c.a, i)
	if kind != at(c.b, j) {
		return i, j, false
	}
	switch kind {
	case '"':
		return c.strings(i, j)
	case '[':
		return c.lists(i, j)
	case '{':
		return c.objects(i, j)
	}
	endA, endB = endOfWord(c.a, i), endOfWord(c.b, j)
	return endA, endB, endA > i && bytes.Equal(c.a[i:endA], c.b[j:endB])
}

// endOfWord returns the index after a number, true, false or null.
func endOfWord(data []byte, i int) int {
	for i < len(data) && data[i] != ',' && data[i] != ']' && data[i] != '}' && data[i] != ':' {
		i++
	}
	return i
}

func (c *comparison) strings(i, j int) (endA, endB int, same bool) {
	endA, traitsA, errA := skipString(c.a, i)
	endB, traitsB, errB := skipString(c.b, j)
	return endA, endB, errA == nil && errB == nil && sameString(c.a[i:endA], c.b[j:endB], traitsA|traitsB)
}

// sameString compares two strings with their quotes; t are the traits of both.
func sameString(a, b []byte, t traits) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if t == 0 {
		return false
	}
	x, _ := Unquote(a)
	y, _ := Unquote(b)
	return x == y
}

func (c *comparison) lists(i, j int) (endA, endB int, same bool) {
	for first := true; ; first = false {
		i, j = i+1, j+1 // past the bracket or the comma
		closedA, closedB := at(c.a, i) == ']', at(c.b, j) == ']'
		if first && (closedA || closedB) {
			return i + 1, j + 1, closedA && closedB
		}
		if i, j, same = c.values(i, j); !same {
			return i, j, false
		}
		switch next := at(c.a, i); {
		case next != at(c.b, j):
			return i, j, false
		case next == ']':
			return i + 1, j + 1, true
		case next != ',':
			return i, j, false
		}
	}
}

// objects compares field by field, as long as the names are in the same order.
func (c *comparison) objects(i, j int) (endA, endB int, same bool) {
	startA, startB := i, j
	for first := true; ; first = false {
		i, j = i+1, j+1 // past the brace or the comma
		closedA, closedB := at(c.a, i) == '}', at(c.b, j) == '}'
		if first && (closedA || closedB) {
			return i + 1, j + 1, closedA && closedB
		}
		if i, j, same = c.strings(i, j); !same {
			return c.unordered(startA, startB)
		}
		if i, j, same = c.values(i+1, j+1); !same { // past the colon
			return i, j, false
		}
		switch next := at(c.a, i); {
		case next != at(c.b, j):
			return i, j, false // one has more fields
		case next == '}':
			return i + 1, j + 1, true
		case next != ',':
			return i, j, false
		}
	}
}

// unordered compares two objects whose fields are in another order.
func (c *comparison) unordered(i, j int) (endA, endB int, same bool) {
	fieldsA, endA := c.fields(c.a, i)
	fieldsB, endB := c.fields(c.b, j)
	if len(fieldsA) != len(fieldsB) || c.left < 0 {
		return endA, endB, false
	}
	places := make(map[string]place, len(fieldsB))
	for _, f := range fieldsB {
		places[f.name] = f
	}
	if len(places) != len(fieldsB) {
		return endA, endB, false // a name is repeated
	}
	for _, f := range fieldsA {
		other, ok := places[f.name]
		if !ok {
			return endA, endB, false // it is missing, or was compared before
		}
		if _, _, same := c.values(f.value, other.value); !same {
			return endA, endB, false
		}
		delete(places, f.name)
	}
	return endA, endB, true
}

// A place is the position of a field of an object.
type place struct {
	name  string
	value int // index of its value
}

// fields returns the fields of the object at data[i], and the index after it.
func (c *comparison) fields(data []byte, i int) (fields []place, end int) {
	cursor := Fields(data, i)
	for cursor.Next() {
		fields = append(fields, place{cursor.Name, cursor.Value.Start})
	}
	if c.left -= cursor.End - i; cursor.Err != nil {
		c.left = -1
	}
	return fields, cursor.End
}
