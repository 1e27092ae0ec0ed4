package rawjson

import (
	"encoding/json"
	"unicode/utf8"
)

// Compact returns v without insignificant white space. If v is compact already, it returns v
// itself. Invalid JSON is returned unchanged; call [Check] first if v may be invalid.
func Compact(v []byte) json.RawMessage {
	span, err := whole(v, maxDepth)
	if err != nil {
		return v
	}
	return span.compact(v)
}

// Clean is [Compact], and replaces invalid UTF-8 in strings by U+FFFD.
func Clean(v []byte) json.RawMessage {
	span, err := whole(v, maxDepth)
	if err != nil {
		return v
	}
	return span.Clean(v)
}

// CleanWithin is [CheckWithin] and [Clean] in one scan.
func CleanWithin(v []byte, depth int) (json.RawMessage, error) {
	span, err := whole(v, depth)
	if err != nil {
		return nil, err
	}
	return span.Clean(v), nil
}

// Clean returns the span's value compact and in valid UTF-8. It aliases data unless something had
// to be changed.
func (s Span) Clean(data []byte) json.RawMessage {
	v := s.compact(data)
	if s.NonASCII && !utf8.Valid(v) {
		return appendValid(make([]byte, 0, len(v)+len(v)/8), v)
	}
	return v
}

// compact limits the capacity of its result, so that appending to it does not overwrite the rest of
// the line.
func (s Span) compact(data []byte) json.RawMessage {
	v := data[s.Start:s.End:s.End]
	if s.Spaced {
		return squeeze(v)
	}
	return v
}

// squeeze copies valid JSON without the white space outside its strings.
func squeeze(v []byte) []byte {
	dst := make([]byte, 0, len(v))
	from := 0 // start of the run that is not copied yet
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			i, _, _ = skipString(v, i) // v is valid, so there is no error
		case isSpace(c):
			dst = append(dst, v[from:i]...)
			i = Space(v, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, v[from:]...)
}

// appendValid appends v, with one U+FFFD for each byte that is not part of a valid sequence, as
// encoding/json does.
func appendValid(dst, v []byte) []byte {
	for i := 0; i < len(v); {
		if v[i] < utf8.RuneSelf {
			dst = append(dst, v[i])
			i++
			continue
		}
		r, n := utf8.DecodeRune(v[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}
