package document

import (
	"cmp"
	"math/big"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
	"github.com/patchbay-dev/patchbay/internal/schema"
)

// The forms of a plain scalar in the core schema of YAML 1.2 (section 10.3.2 of its specification),
// for which authors of manifests write. The parser's own reading of plain scalars is not used. In
// part it follows YAML 1.1: 0755 is octal, and 1_000 is a number. In part it follows no version:
// 1e3 and integers over 64 bits are strings.
var (
	yamlInt   = pattern.New(`^[-+]?[0-9]+$`)
	yamlOctal = pattern.New(`^0o[0-7]+$`)
	yamlHex   = pattern.New(`^0x[0-9a-fA-F]+$`)
	yamlFloat = pattern.New(`^([-+]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]+))?$`)
	yamlNoNum = pattern.New(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
)

// plainScalar returns the value of an unquoted scalar. A number becomes a JSON number with the same
// digits.
func plainScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	switch {
	case yamlInt.MatchString(s):
		return digits(jsonInteger(s))
	case yamlOctal.MatchString(s):
		return digits(inDecimal(s[2:], 8))
	case yamlHex.MatchString(s):
		return digits(inDecimal(s[2:], 16))
	case yamlNoNum.MatchString(s):
		return digits(s) // badNumber refuses it
	}
	if number, ok := jsonFloat(s); ok {
		return digits(number)
	}
	return s
}

// jsonInteger removes what YAML allows in an integer and JSON does not: a plus sign, leading zeros.
func jsonInteger(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign = "-"
	}
	digits := strings.TrimLeft(s, "+-0")
	if digits == "" {
		return "0"
	}
	return sign + digits
}

// jsonFloat writes a float of YAML as JSON: without a plus sign and leading zeros. It also accepts
// .5 and 5., which JSON does not have.
func jsonFloat(s string) (string, bool) {
	m := yamlFloat.Regexp().FindStringSubmatch(s)
	if m == nil || m[2] == "" && m[3] == "" {
		return "", false
	}
	number := strings.TrimPrefix(m[1], "+") + cmp.Or(strings.TrimLeft(m[2], "0"), "0")
	if m[3] != "" {
		number += "." + m[3]
	}
	if m[4] != "" {
		number += "e" + m[4]
	}
	return number, true
}

// inDecimal converts digits of another base to a JSON number. Its cost grows with the square of the
// length, so very long numbers are not converted.
func inDecimal(digits string, base int) string {
	if len(digits) > schema.MaxDigits {
		return strings.Repeat("9", len(digits)) // badNumber refuses it
	}
	n, _ := new(big.Int).SetString(digits, base)
	return n.String()
}

// badNumber returns why a number cannot be used, or "".
func badNumber(number string) string {
	if yamlNoNum.MatchString(number) {
		return "JSON has no number for " + number
	}
	return schema.BadNumber(number)
}
