package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// MaxDigits and maxExponent limit numbers in schemas and values. Numbers are exact fractions of big
// integers, and the limits keep them cheap. They are far beyond what a double can hold (some 17
// digits, exponents up to 308).
const (
	MaxDigits   = 400 // before the exponent
	maxExponent = 400 // positive or negative
)

// BadNumber returns why a JSON number cannot be used, or "".
func BadNumber(number string) string {
	digits, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if len(digits) > MaxDigits {
		return "the number has too many digits"
	}
	if exponent == "" {
		return ""
	}
	if e, err := strconv.Atoi(exponent); err != nil || e > maxExponent || e < -maxExponent {
		return "the number is too large or too small"
	}
	return ""
}

// badNumbers finds the numbers in a value that are too long to compute with.
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

// A number is exact. Most numbers are integers of at most 18 characters, which need no big
// integers.
type number struct {
	small int64
	big   *big.Rat // nil: small
}

// newNumber parses a number that BadNumber accepts.
func newNumber(n json.Number) number {
	if len(n) <= 18 {
		if small, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return number{small: small}
		}
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		r = new(big.Rat) // not a JSON number, which the decoder refuses
	}
	return number{big: r}
}

func (n number) rat() *big.Rat {
	if n.big != nil {
		return n.big
	}
	return new(big.Rat).SetInt64(n.small)
}

// compare returns a negative number if n is less than m, and 0 if they are equal.
func (n number) compare(m number) int {
	if n.big == nil && m.big == nil {
		return cmp.Compare(n.small, m.small)
	}
	return n.rat().Cmp(m.rat())
}

func (n number) sign() int {
	if n.big == nil {
		return cmp.Compare(n.small, 0)
	}
	return n.big.Sign()
}

// isMultiple reports whether n is an integer times m. m is not 0.
func (n number) isMultiple(m number) bool {
	if n.big == nil && m.big == nil {
		return n.small%m.small == 0
	}
	return new(big.Rat).Quo(n.rat(), m.rat()).IsInt()
}

// key returns the same text for equal numbers: 1, 1.0 and 10e-1.
func (n number) key() string {
	if n.big == nil {
		return strconv.FormatInt(n.small, 10)
	}
	return n.big.RatString()
}

// String formats the number for messages.
func (n number) String() string {
	if n.big == nil {
		return strconv.FormatInt(n.small, 10)
	}
	if n.big.IsInt() {
		return shorten(n.big.Num().String())
	}
	f, _ := n.big.Float64()
	return fmt.Sprint(f)
}

// isInteger reports whether a number has no fraction, however it is written.
func isInteger(n json.Number) bool {
	return !strings.ContainsAny(string(n), ".eE") || newNumber(n).rat().IsInt()
}
