package newplugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/pattern"
)

// maxName is the length of the longest name in any dialect.
const maxName = 64

// A nameRule is a dialect's rule for names.
type nameRule struct {
	pattern  pattern.Pattern
	says     string
	reserved []string
}

var (
	slug = nameRule{pattern: pattern.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`),
		says: "lower-case letters and digits, a letter first, single hyphens between"}
	loose = nameRule{pattern: pattern.New(`^[A-Za-z][A-Za-z0-9-]*$`),
		says: "letters, digits and hyphens, a letter first"}
	word = nameRule{pattern: pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`),
		says: "letters, digits, _ and -, no - first"}
)

// ruleOf returns the rule for the names of a pair. A plugin with an SDK needs a name that every
// dialect accepts.
func ruleOf(r Request) nameRule {
	switch {
	case r.Dialect == "python":
		return word
	case r.Dialect == "kaged":
		return nameRule{slug.pattern, slug.says, []string{"kaged", "system"}}
	case r.Dialect == "mine", usesSDK(r):
		return slug
	case r.Dialect == "dotagent":
		return word
	}
	return loose
}

// CheckName says what is wrong with a name, and suggests another one. The dialect and the language
// must be set and valid: the rule for names depends on them.
func CheckName(r Request) error {
	rule := ruleOf(r)
	switch {
	case r.Name == "":
		return &Error{"the name is missing", rule.says}
	case len(r.Name) > maxName:
		return &Error{fmt.Sprintf("the name has %d characters; the limit is %d", len(r.Name), maxName), ""}
	case slices.Contains(rule.reserved, r.Name):
		return &Error{fmt.Sprintf("%q is reserved in the %s dialect", r.Name, r.Dialect), "try " + r.Name + "-plugin"}
	case rule.pattern.MatchString(r.Name):
		return nil
	}
	fix := rule.says
	if better := suggestion(r.Name, rule); better != "" {
		fix += "; try " + better
	}
	return &Error{fmt.Sprintf("%q is not a valid name for a %s plugin in %s", r.Name, r.Dialect, r.Language), fix}
}

// suggestion returns a similar name in lower case with hyphens; "" if no part of the name can be
// used.
func suggestion(name string, rule nameRule) string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		if len(words) > 0 || w[0] > '9' {
			words = append(words, w)
		}
	}
	better := strings.Join(words, "-")
	if len(better) > maxName || !rule.pattern.MatchString(better) {
		return ""
	}
	return better
}
