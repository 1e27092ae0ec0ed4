package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// Envelopes are scanned by hand: encoding/json takes a dozen times as long to find four fields of a
// line. Here values are only located; each is decoded before it is used, which validates it.

var errJSON = errors.New("not a JSON object")

// members calls each for every field of a JSON object. The name is unquoted; the value is raw.
func members(data []byte, each func(name, value []byte)) error {
	i := space(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errJSON
	}
	i = space(data, i+1)
	if i < len(data) && data[i] == '}' {
		return ended(data, i+1)
	}
	for {
		name, next, err := key(data, i)
		if err != nil {
			return err
		}
		end := value(data, next)
		if end <= next {
			return errJSON
		}
		each(name, data[next:end])
		switch i = space(data, end); {
		case i >= len(data):
			return errJSON
		case data[i] == '}':
			return ended(data, i+1)
		case data[i] != ',':
			return errJSON
		}
		i = space(data, i+1)
	}
}

// key reads a name and its colon, and returns where the value begins.
func key(data []byte, i int) (name []byte, next int, err error) {
	end := text(data, i)
	if end < 0 {
		return nil, 0, errJSON
	}
	name = data[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		var s string
		if json.Unmarshal(data[i:end], &s) != nil {
			return nil, 0, errJSON
		}
		name = []byte(s)
	}
	if end = space(data, end); end >= len(data) || data[end] != ':' {
		return nil, 0, errJSON
	}
	return name, space(data, end+1), nil
}

func ended(data []byte, i int) error {
	if space(data, i) != len(data) {
		return errJSON
	}
	return nil
}

func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// text returns where the string that begins at i ends; -1 if there is none.
func text(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return -1
	}
	for i++; ; i++ {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			return -1
		}
		i += quote
		back := i
		for data[back-1] == '\\' {
			back--
		}
		if (i-back)%2 == 0 {
			return i + 1
		}
	}
}

// value returns where the value that begins at i ends; i itself, or less, if there is none.
func value(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	if c := data[i]; c == '"' {
		return text(data, i)
	} else if c != '{' && c != '[' {
		return scalar(data, i)
	}
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := text(data, i)
			if end < 0 {
				return -1
			}
			i = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func scalar(data []byte, i int) int {
	for i < len(data) {
		switch data[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// plain returns a JSON string without its quotes; any other value as it is; "" for null.
func plain(value []byte) string {
	if len(value) > 0 && value[0] == '"' {
		var s string
		if json.Unmarshal(value, &s) == nil {
			return s
		}
	}
	if string(value) == "null" {
		return ""
	}
	return string(value)
}

const hexDigits = "0123456789abcdef"

// appendString appends a text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func appendString[T string | []byte](out []byte, s T) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))])); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		out = append(out, s[from:i]...)
		out = appendEscape(out, c)
		i++
		from = i
	}
	return append(append(out, s[from:]...), '"')
}

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	if c >= utf8.RuneSelf {
		return append(out, `\ufffd`...)
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// marshal is json.Marshal without the escapes for web pages.
func marshal(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// appendValue appends a result: a text and raw JSON without encoding/json.
func appendValue(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...), nil
	case string:
		return appendString(out, v), nil
	case json.RawMessage:
		if len(v) == 0 {
			return append(out, "null"...), nil
		}
	}
	encoded, err := marshal(v)
	return append(out, encoded...), err
}

// asText returns a result as a text: a string as it is, anything else as JSON.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	encoded, err := marshal(v)
	return string(encoded), err
}
