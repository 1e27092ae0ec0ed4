package sandbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/capability"
)

// grants parses capabilities.
func grants(t testing.TB, texts ...string) []capability.Capability {
	t.Helper()
	var list []capability.Capability
	for _, text := range texts {
		c, err := capability.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

func TestJudge(t *testing.T) {
	why := errors.New("because")
	every := []string{"read:fs:/a", "write:fs:/a", "exec:a:/a", "net:a.example:443", "net:a.example:*", "net:192.0.2.1:80", "net:*", "net:[]",
		"kaged:storage:read", "kaged:storage:write"}
	const e, p, n = Enforced, Partial, NotEnforced
	for _, c := range []struct {
		rule   string
		system System
		want   []Status // one for each grant
	}{
		{"with everything, everything is enforced", System{Scoped: true}, []Status{e, e, e, e, e, e, e, e, e, e}},
		{"an old Landlock does not keep abstract sockets apart", System{}, []Status{e, e, e, e, e, e, p, e, e, e}},
		{"without Landlock, reading and executing are partly enforced", System{Landlock: why}, []Status{p, e, p, e, e, e, p, e, e, e}},
		{"without a filter, every kind of socket can be created", System{Filter: why, Scoped: true}, []Status{e, e, e, e, e, e, p, e, e, e}},
		{"without redirection, all ports of a host cannot be enforced", System{Redirect: why, Scoped: true}, []Status{e, e, e, e, n, e, e, e, e, e}},
		{"without namespaces, hosts are not enforced, and files and programs partly", System{Namespaces: why, Scoped: true, Token: true}, []Status{p, p, p, n, n, n, e, e, e, e}},
		{"without namespaces, net:* needs a token of the daemon", System{Namespaces: why, Scoped: true}, []Status{p, p, p, n, n, n, n, e, e, e}},
		{"with namespaces, net:* needs no token", System{Scoped: true, Token: false}, []Status{e, e, e, e, e, e, e, e, e, e}},
		{"if loaders can be started directly, exec is partial", System{Loader: why, Scoped: true}, []Status{e, e, p, e, e, e, e, e, e, e}},
		{"without namespaces and Landlock, only storage", System{Namespaces: why, Landlock: why}, []Status{n, n, n, n, n, n, n, n, e, e}},
		{"without namespaces and filter, only storage", System{Namespaces: why, Filter: why}, []Status{n, n, n, n, n, n, n, n, e, e}},
		{"with nothing, only storage", System{Namespaces: why, Redirect: why, Landlock: why, Filter: why}, []Status{n, n, n, n, n, n, n, n, e, e}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			verdicts := c.system.Judge(grants(t, every...))
			if len(verdicts) != len(every) {
				t.Fatalf("%d verdicts on %d capabilities", len(verdicts), len(every))
			}
			for i, v := range verdicts {
				if v.Capability != every[i] || v.Status != c.want[i] || v.Reason == "" {
					t.Errorf("%s: %+v, want %s", every[i], v, c.want[i])
				}
				if v.Status != Enforced && c.system != (System{}) && v.Capability != "net:*" && !strings.Contains(v.Reason, "because") {
					t.Errorf("%s: %q does not say why", v.Capability, v.Reason)
				}
			}
		})
	}
	t.Run("without a net: capability there is no network, and that is judged", func(t *testing.T) {
		for text, want := range map[string]int{"read:fs:/a": 2, "net:[]": 1, "net:*": 1, "net:a.example:1": 1} {
			verdicts := new(System).Judge(grants(t, text))
			if len(verdicts) != want || want == 2 && verdicts[1].Capability != "net:[]" {
				t.Errorf("%s: %+v", text, verdicts)
			}
		}
		if verdicts := new(System).Judge(nil); len(verdicts) != 1 || verdicts[0].Capability != "net:[]" || verdicts[0].Status != Enforced {
			t.Errorf("nothing granted: %+v", verdicts)
		}
	})
}

// TestLandlockAloneIsExplained: a partial verdict says which part is enforced.
func TestLandlockAloneIsExplained(t *testing.T) {
	system := System{Namespaces: errors.New("because"), Scoped: true}
	const seen, refused, open, byDescriptor = "names, sizes and times of other files can be seen", "chmod, chown, utime and setxattr are refused",
		"can be changed, too", "chmod, chown, utime and setxattr work only through a descriptor"
	for _, c := range []struct {
		rule   string
		grants []string
		says   [][]string // for each capability
		not    string     // for none of them
	}{
		{"a plugin that may write nothing changes no attributes", []string{"read:fs:/a"}, [][]string{{seen, refused}}, byDescriptor},
		{"a plugin that may write something changes attributes of everything that it may read", []string{"read:fs:/a", "write:fs:/b"}, [][]string{{seen, open}, {seen, byDescriptor}}, refused},
		{"a plugin that may write everything changes all attributes", []string{"write:fs:/"}, [][]string{{"can be seen"}}, "chmod"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			verdicts := system.Judge(grants(t, c.grants...))
			for i, words := range c.says {
				for _, word := range append(words, "because") {
					if v := verdicts[i]; v.Status != Partial || !strings.Contains(v.Reason, word) || strings.Contains(v.Reason, c.not) {
						t.Errorf("%+v: want %q, and not %q", v, word, c.not)
					}
				}
			}
		})
	}
	t.Run("Weakness says what it means for every plugin", func(t *testing.T) {
		if what, fix := system.Weakness(); !strings.Contains(what, "Landlock alone") || !strings.Contains(what, "because") || !strings.Contains(what, "EPERM") ||
			!strings.Contains(fix, "user namespaces") {
			t.Errorf("%q, %q", what, fix)
		}
		for _, s := range []System{{}, {Namespaces: errors.New("no"), Landlock: errors.New("no")}} {
			if what, fix := s.Weakness(); what != "" || fix != "" {
				t.Errorf("%+v: %q, %q", s, what, fix)
			}
		}
	})
}

func TestPossible(t *testing.T) {
	why := errors.New("because")
	for _, c := range []struct {
		rule     string
		system   System
		possible bool
	}{
		{"namespaces are enough", System{Landlock: why, Filter: why, Redirect: why}, true},
		{"Landlock and a filter are enough", System{Namespaces: why, Redirect: why}, true},
		{"Landlock alone is not enough", System{Namespaces: why, Filter: why}, false},
		{"a filter alone is not enough", System{Namespaces: why, Landlock: why}, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := c.system.Possible(); (err == nil) != c.possible || err != nil && !errors.Is(err, why) {
				t.Error(err)
			}
		})
	}
}

func TestBuildError(t *testing.T) {
	for want, e := range map[string]BuildError{"mount /a: no": {Stage: "mount /a", Reason: "no"}, "no": {Reason: "no"}} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
