package rawjson

import "encoding/json"

// outlined is how many fields fit an [Outline]. Answers of plugins rarely have more.
const outlined = 6

// An Outline says where the fields of an object begin, so that [Outline.ParseForeign] need not scan
// it a second time. It is empty if the value is not an object or has white space inside. See
// [Cursor.Outline].
type Outline struct {
	size   uint32           // of the value
	fields uint32           // how many there are
	begin  [outlined]uint32 // where the first ones begin, from the start of the value
}

// note adds the field that begins at i.
func (o *Outline) note(i int) {
	if o.fields < outlined {
		o.begin[o.fields] = uint32(i)
	}
	o.fields++
}

// ParseForeign is [ParseForeign] for the outlined value, as [Span.Clean] returned it, of any depth.
// If Clean had to change the value, or the value has more fields than fit an outline, it is scanned
// again.
func (o *Outline) ParseForeign(value []byte) (Object, error) {
	if o.fields == 0 || o.fields > outlined || len(value) != int(o.size) {
		return unambiguous(parse(value, maxDepth))
	}
	var repeated *RepeatError
	fields := make(Object, 0, o.fields)
	for i, from := range o.begin[:o.fields] {
		to := o.size
		if i+1 < int(o.fields) {
			to = o.begin[i+1]
		}
		to-- // the comma after the field, or the closing brace
		end, t, _ := skipString(value, int(from))
		f := Field{fieldName(value[from+1:end-1], t), json.RawMessage(value[end+1 : to : to])}
		if i := fields.find(f.Name); i >= 0 {
			if !Equal(fields[i].Value, f.Value) {
				repeated = &RepeatError{f.Name}
			}
			fields[i].Value = f.Value
		} else {
			fields = append(fields, f)
		}
	}
	return unambiguous(fields, repeated, nil)
}
