//go:build unix

package program

import (
	"strings"
	"testing"
)

func TestInterpreterLine(t *testing.T) {
	for _, test := range []struct {
		name, head string
		want       hashBang
	}{
		{"a program", "\x7fELF", hashBang{}},
		{"an interpreter", "#!/bin/sh\n", hashBang{path: "/bin/sh"}},
		{"without a newline", "#!/bin/sh", hashBang{path: "/bin/sh"}},
		{"with space around it", "#! \t/bin/sh \t\n", hashBang{path: "/bin/sh"}},
		{"everything after the interpreter is one argument", "#!/bin/sh -e -u\n", hashBang{"/bin/sh", "-e -u"}},
		{"through env", "#!/usr/bin/env python3\n", hashBang{"/usr/bin/env", "python3"}},
		{"through env after a tab", "#!/usr/bin/env\tpython3\n", hashBang{"/usr/bin/env", "python3"}},
		{"env alone", "#!/usr/bin/env\n", hashBang{path: "/usr/bin/env"}},
		{"nothing", "#!\n", hashBang{}},
		{"too long for the kernel", "#!/" + strings.Repeat("x", headSize), hashBang{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			head := []byte(test.head)
			if got := interpreterLine(head[:min(len(head), headSize)]); got != test.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
