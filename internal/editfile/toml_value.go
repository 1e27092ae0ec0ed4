package editfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlValue writes a JSON value in TOML, on one line.
func tomlValue(value json.RawMessage) (string, error) {
	v, err := decode(value)
	if err != nil {
		return "", fmt.Errorf("the value is not JSON: %w", err)
	}
	return tomlText(v)
}

func tomlText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return tomlString(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case json.Number:
		return tomlNumber(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			var err error
			if items[i], err = tomlText(item); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var fields []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text, err := tomlText(v[name])
			if err != nil {
				return "", err
			}
			fields = append(fields, tomlKey(name)+" = "+text)
		}
		if fields == nil {
			return "{}", nil
		}
		return "{ " + strings.Join(fields, ", ") + " }", nil
	}
	return "", errors.New("TOML has no null")
}

// tomlNumber writes a whole number as an integer, and a number with a fraction as a float.
func tomlNumber(n json.Number) (string, error) {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return strconv.FormatInt(i, 10), nil
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil {
		return "", fmt.Errorf("the number %.40s is out of range", n)
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text, nil
}

// tomlString writes a basic string. It escapes everything that is not a printable character.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r) // invalid bytes become the replacement character, as in JSON
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tomlKey quotes a key if TOML requires it.
func tomlKey(key string) string {
	bare := func(r rune) bool {
		return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r == '-' || r == '_'
	}
	if key != "" && utf8.ValidString(key) && strings.IndexFunc(key, func(r rune) bool { return !bare(r) }) < 0 {
		return key
	}
	return tomlString(key)
}
