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

// Numbers in schemas and in the values they check are kept exact, as fractions of big integers, so
// both bounds keep them cheap. They are far beyond what a double can hold (some 17 digits,
// exponents to 308).
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

// A number is exact. Those that fit into 18 digits, as most do, need no fraction of big integers.
type number struct {
	small int64
	big   *big.Rat // nil: small
}

// newNumber reads a number that BadNumber has nothing against.
func newNumber(n json.Number) number {
	if len(n) <= 18 {
		if small, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return number{small: small}
		}
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		r = new(big.Rat) // not a JSON number: the decoder lets none pass
	}
	return number{big: r}
}

func (n number) rat() *big.Rat {
	if n.big != nil {
		return n.big
	}
	return new(big.Rat).SetInt64(n.small)
}

// compare is negative where n is less than m, and 0 where they are the same.
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

// isMultiple reports whether n is m times an integer. m is not 0.
func (n number) isMultiple(m number) bool {
	if n.big == nil && m.big == nil {
		return n.small%m.small == 0
	}
	return new(big.Rat).Quo(n.rat(), m.rat()).IsInt()
}

// key is the same text for the same number: 1, 1.0 and 10e-1.
func (n number) key() string {
	if n.big == nil {
		return strconv.FormatInt(n.small, 10)
	}
	return n.big.RatString()
}

// String is how a message shows the number.
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
