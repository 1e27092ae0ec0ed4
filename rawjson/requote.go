package rawjson

import (
	"bytes"
	"encoding/json"
)

// Requote returns v, which must be valid JSON, with every string written as [AppendString] writes
// it: without escapes that are not needed, such as \u0072 for r or \/ for /. So a reader that looks
// for words in JSON, without decoding it, cannot miss them. If there is no escape in v, it returns
// v itself.
func Requote(v []byte) json.RawMessage {
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	dst := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		next := bytes.IndexByte(v[i:], '"')
		if next < 0 {
			return append(dst, v[i:]...)
		}
		dst = append(dst, v[i:i+next]...)
		i += next
		end, t, err := skipString(v, i)
		if err != nil {
			return v // not JSON
		}
		if t&escaped == 0 {
			dst = append(dst, v[i:end]...)
		} else {
			dst = appendQuoted(dst, unescape(v[i+1:end-1]))
		}
		i = end
	}
	return dst
}
