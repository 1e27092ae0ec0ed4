package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf16"
	"unicode/utf8"
)

// Requote returns v, which must be valid JSON, without escapes that are not needed, such as \u0072
// for r or \/ for /. So a reader that looks for words in JSON, without decoding it, cannot miss
// them. It keeps the escapes that [AppendString] writes, and half a surrogate pair, such as \ud800,
// because UTF-8 has no bytes for it. If there is nothing to change, Requote returns v itself.
func Requote(v []byte) json.RawMessage {
	var dst []byte
	copied := 0 // bytes of v that dst stands for
	for i := nextEscape(v, 0); i >= 0; {
		size, err := escape(v, i)
		if err != nil {
			return v // not JSON
		}
		if c := v[i+1]; c == 'u' || c == '/' {
			if dst == nil {
				dst = make([]byte, 0, len(v))
			}
			dst = append(dst, v[copied:i]...)
			dst, size = appendShort(dst, v[i:])
			copied = i + size
		}
		i = nextEscape(v, i+size)
	}
	if dst == nil {
		return v
	}
	return append(dst, v[copied:]...)
}

// Half returns the first half of a surrogate pair in v, which must be valid JSON, as it is written
// there; nil: there is none. Decoded to a Go string, it becomes U+FFFD.
func Half(v []byte) []byte {
	for i := nextEscape(v, 0); i >= 0; {
		size, err := escape(v, i)
		if err != nil {
			return nil // not JSON
		}
		if v[i+1] == 'u' {
			if _, size = codePoint(v[i:]); isHalf(v[i:], size) {
				return v[i : i+size]
			}
		}
		i = nextEscape(v, i+size)
	}
	return nil
}

// nextEscape returns the index of the first escape at or after v[i], or -1.
func nextEscape(v []byte, i int) int {
	n := bytes.IndexByte(v[i:], '\\')
	if n < 0 {
		return -1
	}
	return i + n
}

// appendShort appends the character of the escape \/ or \uXXXX at the start of b, escaped only if
// it must be, and returns the length of the escape.
func appendShort(dst, b []byte) ([]byte, int) {
	if b[1] == '/' {
		return append(dst, '/'), 2
	}
	switch r, n := codePoint(b); {
	case isHalf(b, n), r == '\u2028', r == '\u2029':
		return append(dst, b[:n]...), n
	case r < ' ', r == '"', r == '\\':
		return appendEscape(dst, byte(r)), n
	default:
		return utf8.AppendRune(dst, r), n
	}
}

// isHalf reports whether the escape \uXXXX at the start of b, of which [codePoint] decoded n bytes,
// is half a surrogate pair.
func isHalf(b []byte, n int) bool {
	r, _ := hex4(b)
	return n == 6 && utf16.IsSurrogate(r)
}
