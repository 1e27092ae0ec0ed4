package sandbox

import (
	"path/filepath"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestAProgramsOtherPath: exec:/usr/bin/sh also grants /bin/sh if that is the same file, and no
// other program.
func TestAProgramsOtherPath(t *testing.T) {
	target, err := filepath.EvalSymlinks("/bin")
	if err != nil || target != "/usr/bin" {
		t.Skipf("/bin is %s here, not a link to /usr/bin", target)
	}
	plan := func(grants ...capability.Capability) *draft {
		p, err := New(Options{Grants: grants}).plan(proc.Launch{Path: "/usr/bin/env", Argv: []string{"env"}, Env: []string{testPath}, Dir: "/"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	sh, err := filepath.EvalSymlinks("/usr/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	granted := plan(capability.Capability{Kind: capability.Exec, Binary: "sh", Path: "/usr/bin/sh"})
	if got := at(granted, "/bin"); got != "link" {
		t.Errorf("/bin is %q", got)
	}
	if got := at(granted, sh); got == "" {
		t.Errorf("%s does not exist inside", sh)
	}
	if got := at(granted, "/usr/bin/perl"); got != "" {
		t.Errorf("another program exists inside: %q", got)
	}
}
