package schema

import "strings"

// isVersion follows semver.org, 2.0.0.
func isVersion(s string) bool {
	s, build, hasBuild := strings.Cut(s, "+")
	s, pre, hasPre := strings.Cut(s, "-")
	core := strings.Split(s, ".")
	if len(core) != 3 || hasBuild && !areIdentifiers(build, true) || hasPre && !areIdentifiers(pre, false) {
		return false
	}
	for _, n := range core {
		if n == "" || !only(n, isDigit) || n[0] == '0' && n != "0" {
			return false
		}
	}
	return true
}

// areIdentifiers checks the parts after a version's core. In a pre-release, numbers have no leading
// zeros.
func areIdentifiers(s string, zeros bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || !only(id, isLabelByte) {
			return false
		}
		if !zeros && len(id) > 1 && id[0] == '0' && only(id, isDigit) {
			return false
		}
	}
	return true
}

// isTemplate follows RFC 6570: an address with expressions in braces.
func isTemplate(s string) bool {
	plain := ""
	for {
		before, rest, has := strings.Cut(s, "{")
		if strings.Contains(before, "}") {
			return false
		}
		plain += before
		if !has {
			_, ok := parseAddress(plain)
			return ok
		}
		expression, after, closed := strings.Cut(rest, "}")
		if !closed || !isExpression(expression) {
			return false
		}
		plain += "x" // some value
		s = after
	}
}

// isExpression checks the text between braces: an operator, then variables.
func isExpression(s string) bool {
	if s != "" && strings.IndexByte("+#./;?&=,!@|", s[0]) >= 0 {
		s = s[1:]
	}
	for variable := range strings.SplitSeq(s, ",") {
		if !isVariable(variable) {
			return false
		}
	}
	return true
}

// isVariable checks a name, which may be followed by a length ":3" or a "*".
func isVariable(s string) bool {
	s, length, hasLength := strings.Cut(s, ":")
	if hasLength && (length == "" || len(length) > 4 || length[0] == '0' || !only(length, isDigit)) {
		return false
	}
	if !hasLength {
		s = strings.TrimSuffix(s, "*")
	}
	for part := range strings.SplitSeq(s, ".") {
		if !isVariableName(part) {
			return false
		}
	}
	return true
}

func isVariableName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case isAlphanumeric(s[i]) || s[i] == '_':
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			i += 2
		default:
			return false
		}
	}
	return s != ""
}
