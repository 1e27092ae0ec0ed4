package rawjson

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

const hexDigits = "0123456789abcdef"

// replacement is U+FFFD as it stands in a document.
const replacement = "\uFFFD"

// String returns s as a JSON string.
func String(s string) json.RawMessage { return Quote(bytesOf(s)) }

// Quote returns text as a JSON string, like [String].
func Quote(text []byte) json.RawMessage { return appendQuoted(make([]byte, 0, quotedSize(text)), text) }

// AppendQuoted appends text as a JSON string, like [AppendString]. It makes room for all of it at
// once.
func AppendQuoted(dst, text []byte) []byte {
	return appendQuoted(slices.Grow(dst, quotedSize(text)), text)
}

// long is the length from which counting the escapes before allocating saves time. Without the
// count, a text with many escapes, such as JSON, would outgrow its first allocation.
const long = 1 << 10

// quotedSize estimates the length of a text as a JSON string.
func quotedSize(text []byte) int {
	size := len(text) + len(`""`)
	if len(text) >= long {
		size += bytes.Count(text, []byte{'"'}) + bytes.Count(text, []byte{'\\'}) + bytes.Count(text, []byte{'\n'})
	}
	return size
}

// bytesOf returns a string's bytes without a copy. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// AppendString appends s as a JSON string. It escapes what JSON requires, and U+2028 and U+2029,
// which older JavaScript takes for line ends. It escapes nothing else: "<" stays "<", so that shell
// plugins can match it. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte { return appendQuoted(dst, bytesOf(s)) }

func appendQuoted(dst, src []byte) []byte {
	dst = append(dst, '"')
	for i := 0; ; {
		end, t := plain(src, i)
		if t == 0 {
			dst = append(dst, src[i:end]...)
		} else {
			dst = appendRepaired(dst, src[i:end])
		}
		if end == len(src) {
			return append(dst, '"')
		}
		dst = appendEscape(dst, src[end])
		i = end + 1
	}
}

// appendRepaired appends a run without characters that JSON requires to be escaped. It replaces
// invalid UTF-8, and escapes U+2028 and U+2029.
func appendRepaired(dst, run []byte) []byte {
	for len(run) > 0 {
		r, n := utf8.DecodeRune(run)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(dst, replacement...)
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, '\\', 'u', '2', '0', '2', hexDigits[r&0xF])
		default:
			dst = append(dst, run[:n]...)
		}
		run = run[n:]
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// Unquote decodes v if it is a JSON string; white space around it is allowed. Invalid UTF-8 and
// lone surrogates become U+FFFD.
func Unquote(v []byte) (string, bool) {
	body, t, ok := stringBody(v)
	if !ok || t.verbatim(body) {
		return string(body), ok
	}
	text := unescape(body)
	return unsafe.String(unsafe.SliceData(text), len(text)), true // nothing else refers to text
}

// Text returns the result of [Unquote] as bytes. They alias v if they did not need decoding, and
// must not be changed then.
func Text(v []byte) ([]byte, bool) {
	body, t, ok := stringBody(v)
	if !ok || t.verbatim(body) {
		return body, ok
	}
	return unescape(body), true
}

// stringBody returns the bytes between the quotes, if v is a JSON string.
func stringBody(v []byte) (body []byte, t traits, ok bool) {
	i := Space(v, 0)
	if i == len(v) || v[i] != '"' {
		return nil, 0, false
	}
	end, t, err := skipString(v, i)
	if err != nil || Space(v, end) < len(v) {
		return nil, 0, false
	}
	return v[i+1 : end-1], t, true
}

// verbatim reports whether the body of a valid string needs no decoding: it has no escapes and is
// valid UTF-8.
func (t traits) verbatim(body []byte) bool {
	return t == 0 || t&escaped == 0 && utf8.Valid(body)
}

// unescape decodes the body of a valid JSON string: plain runs, and escapes between them.
func unescape(body []byte) []byte {
	dst := make([]byte, 0, len(body))
	for i := 0; ; {
		end, t := plain(body, i)
		if t == 0 {
			dst = append(dst, body[i:end]...)
		} else {
			dst = appendValid(dst, body[i:end])
		}
		if end == len(body) {
			return dst
		}
		var n int
		dst, n = appendUnescaped(dst, body[end:])
		i = end + n
	}
}

// appendUnescaped decodes the valid escape at the start of b and returns its length.
func appendUnescaped(dst, b []byte) ([]byte, int) {
	switch b[1] {
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'u':
		r, n := codePoint(b)
		return utf8.AppendRune(dst, r), n
	}
	return append(dst, b[1]), 2 // the quote, the backslash and the slash stand for themselves
}

// codePoint decodes \uXXXX, or a surrogate pair. A surrogate without its partner is U+FFFD.
func codePoint(b []byte) (rune, int) {
	r, _ := hex4(b)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(b[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// hex4 reads the \uXXXX at the start of b.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
