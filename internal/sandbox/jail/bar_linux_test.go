package jail

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestBarEntry: no byte of a file ends its field of the entry.
func TestBarEntry(t *testing.T) {
	var every []byte
	for b := range 256 {
		every = append(every, byte(b))
	}
	entry := string(barEntry(7, every))
	if fields := strings.Split(entry, ":"); len(fields) != 8 || fields[1] != "loader7" || fields[6] != notAProgram || strings.ContainsAny(entry, "\n\x00") {
		t.Errorf("%q", entry)
	}
	if got, want := string(barEntry(0, []byte("\x7fE:\n"))), `:loader0:M:0:\x7f\x45\x3a\x0a::/:`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestBar: a file that begins with the given bytes cannot be executed; other files can.
func TestBar(t *testing.T) {
	needNamespaces(t)
	head := func(path string) []byte {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Skip(err)
		}
		return data[:64]
	}
	barred, other := head("/usr/bin/true"), head("/usr/bin/env")
	if bytes.Equal(barred, other) {
		t.Skip("true and env are the same program here")
	}
	// For uid 0 inner writes the list itself, for any other uid middle does. A plan of root for
	// another uid is refused, because only uid 0 can write the list.
	users := []int{0, 1234}
	if os.Geteuid() == 0 {
		users = users[:1]
	}
	for rule, c := range map[string]struct {
		loaders [][]byte
		script  string
	}{
		"nothing is barred":                {nil, "/usr/bin/true && [ \"$(/usr/bin/env)\" ]"},
		"one file":                         {[][]byte{barred}, "! /usr/bin/true && [ \"$(/usr/bin/env)\" ]"},
		"two files":                        {[][]byte{barred, other}, "! /usr/bin/true && [ ! \"$(/usr/bin/env)\" ]"},
		"a file that begins differently":   {[][]byte{append([]byte{0}, barred[1:]...)}, "/usr/bin/true"},
		"bytes with a meaning in the list": {[][]byte{[]byte(":\n\\x::/bin/sh:OCF")}, "/usr/bin/true"},
	} {
		t.Run(rule, func(t *testing.T) {
			for _, user := range users {
				plan := shell(c.script)
				plan.Loaders, plan.User, plan.Group = c.loaders, user, user
				r, status := build(t, plan)
				if r.Stage == StageBar {
					t.Skipf("this kernel cannot: %s", r.Error)
				}
				if !r.Runs || status != 0 {
					t.Errorf("uid %d: %+v, exit %d", user, r, status.ExitStatus())
				}
			}
		})
	}
}
