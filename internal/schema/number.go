package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Numbers in schemas and in the values they check are kept exact, as fractions
// of big integers, so both bounds keep them cheap. They are far beyond what a
// double can hold (some 17 digits, exponents to 308).
const (
	MaxDigits   = 400 // before the exponent
	maxExponent = 400 // up or down
)

// BadNumber says why a JSON number cannot be used, "" where it can.
func BadNumber(number string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > MaxDigits {
		return "the number has too many digits"
	}
	if exponent == "" {
		return ""
	}
	if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
		return "the number is out of all bounds"
	}
	return ""
}

// badNumbers finds the numbers of a value that are too long to compute with.
func badNumbers(v any, at []string) []Fault {
	var out []Fault
	switch v := v.(type) {
	case json.Number:
		if why := BadNumber(v.String()); why != "" {
			out = append(out, Fault{slices.Clone(at), why})
		}
	case []any:
		for i, item := range v {
			out = append(out, badNumbers(item, append(at, strconv.Itoa(i)))...)
		}
	case map[string]any:
		for name, item := range v {
			out = append(out, badNumbers(item, append(at, name))...)
		}
	}
	return out
}
