package schema

import (
	"net/netip"
	"net/url"
	"strings"
)

// formatCheck returns the check of a format, or nil if the format is not checked.
func formatCheck(name string) func(string) bool {
	switch name {
	case "regex":
		return isPattern
	case "date-time":
		return isDateTime
	case "date":
		return isDate
	case "time":
		return isTime
	case "duration":
		return isDuration
	case "period":
		return isPeriod
	case "email":
		return isEmail
	case "hostname":
		return isHostname
	case "ipv4":
		return isIPv4
	case "ipv6":
		return isIPv6
	case "uri", "iri":
		return isAddress
	case "uri-reference", "iri-reference":
		return isReference
	case "uri-template":
		return isTemplate
	case "uuid":
		return isUUID
	case "json-pointer":
		return isPointer
	case "relative-json-pointer":
		return isRelativePointer
	case "semver":
		return isVersion
	}
	return nil
}

func isIPv4(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

// isIPv6 refuses zones: "%eth0" has a meaning only on one machine.
func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// isHostname follows RFC 1123: labels of letters, digits and hyphens.
func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) < 1 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || !only(label, isLabelByte) {
			return false
		}
	}
	return true
}

func isLabelByte(c byte) bool { return isAlphanumeric(c) || c == '-' }

// isEmail follows RFC 5321 (section 4.1.2 and 4.5.3.1).
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || len(s) > 254 || at > 64 {
		return false
	}
	local, domain := s[:at], s[at+1:]
	if !isQuoted(local) && !isDotted(local) {
		return false
	}
	literal, ok := strings.CutPrefix(domain, "[")
	if !ok {
		return isHostname(domain)
	}
	literal, ok = strings.CutSuffix(literal, "]")
	if v6, is6 := strings.CutPrefix(literal, "IPv6:"); is6 {
		return ok && isIPv6(v6)
	}
	return ok && isIPv4(literal)
}

// isQuoted reports whether a local part is a quoted string.
func isQuoted(s string) bool {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	s = s[1 : len(s)-1]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			if i == len(s) {
				return false
			}
		} else if s[i] == '"' {
			return false
		}
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isDotted reports whether a local part is words separated by dots.
func isDotted(s string) bool {
	for word := range strings.SplitSeq(s, ".") {
		if word == "" || !only(word, isWordByte) {
			return false
		}
	}
	return true
}

// isWordByte reports whether a byte is atext (RFC 5322, section 3.2.3).
func isWordByte(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

func isAddress(s string) bool {
	u, ok := parseAddress(s)
	return ok && u.IsAbs()
}

func isReference(s string) bool {
	_, ok := parseAddress(s)
	return ok && !strings.Contains(s, `\`)
}

func parseAddress(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, false
	}
	host := u.Hostname()
	if strings.Contains(host, ":") && !(strings.Contains(u.Host, "[") && strings.Contains(u.Host, "]") && isIPv6(host)) {
		return nil, false // an IPv6 address is in brackets
	}
	return u, true
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

// isPointer follows RFC 6901.
func isPointer(s string) bool {
	if s != "" && s[0] != '/' {
		return false
	}
	for i := range len(s) {
		if s[i] == '~' && (i+1 == len(s) || s[i+1] != '0' && s[i+1] != '1') {
			return false
		}
	}
	return true
}

// isRelativePointer accepts a number of levels up, followed by "#" or a pointer down.
func isRelativePointer(s string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	up := s[:len(s)-len(rest)]
	if up == "" || up[0] == '0' && up != "0" {
		return false
	}
	return rest == "#" || isPointer(rest)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isAlphanumeric(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// only reports whether all bytes of a text are of a kind.
func only(s string, kind func(byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return true
}
