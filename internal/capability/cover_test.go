package capability

import (
	"strings"
	"testing"
)

func parseAll(t *testing.T, text string) []Capability {
	t.Helper()
	list := []Capability{}
	for _, s := range strings.Fields(text) {
		c, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func TestCommon(t *testing.T) {
	for _, c := range []struct{ rule, a, b, want string }{
		{"nothing", "", "read:fs:/a", ""},
		{"the same", "read:fs:/a net:*", "net:* read:fs:/a", "read:fs:/a net:*"},
		{"writing is reading too", "write:fs:/a", "read:fs:/a", "read:fs:/a"},
		{"reading is not writing", "read:fs:/a", "write:fs:/a", "read:fs:/a"},
		{"a path below may be a link", "read:fs:/a", "read:fs:/a/b", ""},
		{"one of all ports", "net:x.example:*", "net:x.example:443", "net:x.example:443"},
		{"another port", "net:x.example:80", "net:x.example:443", ""},
		{"another host", "net:x.example:443", "net:y.example:443", ""},
		{"one host of the whole network", "net:*", "net:x.example:443", "net:x.example:443"},
		{"no network", "net:*", "net:[]", "net:[]"},
		{"no network and one host", "net:[]", "net:x.example:443", "net:[]"},
		{"a program is compared by its path", "exec:a:/bin/x", "exec:b:/bin/x", "exec:a:/bin/x exec:b:/bin/x"},
		{"another program", "exec:a:/bin/x", "exec:a:/bin/y", ""},
		{"storage", "kaged:storage:read kaged:storage:write", "kaged:storage:read", "kaged:storage:read"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, b := parseAll(t, c.a), parseAll(t, c.b)
			got := Common(a, b)
			var texts []string
			for _, one := range got {
				texts = append(texts, one.String())
			}
			if text := strings.Join(texts, " "); text != c.want || got == nil {
				t.Errorf("got %q, want %q", text, c.want)
			}
			if !Within(got, a) || !Within(got, b) {
				t.Errorf("%q is not within both", texts)
			}
		})
	}
	if Within(parseAll(t, "read:fs:/a net:*"), parseAll(t, "read:fs:/a")) {
		t.Error("a larger grant counts as within a smaller one")
	}
}
