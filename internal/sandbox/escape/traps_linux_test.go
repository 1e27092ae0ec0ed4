package escape

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// A trap is prepared in one run, which does nothing that was not granted, and used in the next one.
// The files that a box is built from are looked up again at every start, and by then a plugin may
// have replaced them with links.
type trap struct {
	name    string
	grants  []string // of the second run
	own     string   // the plugin's own files in the second run; may be empty
	prepare string   // a Bash script for another program, which may write trapDir
	inside  string   // Python for a first run of the plugin itself in the same box; instead of prepare
	use     string   // a Bash script that prints the secret if it can
}

// trapDir is granted for writing in the first run, with everything in it.
const trapDir = arenaDir + "/trap"

var traps = []trap{
	{
		name:   "own files that the plugin itself has replaced by a link",
		grants: []string{"write:fs:" + trapDir}, own: trapDir + "/a/own",
		inside: "os.rename('a', 'b'); os.mkdir('a'); os.symlink('" + secretDir + "', 'a/own')",
		use:    "cat_ " + secretDir + "/canary; cat_ a/own/canary",
	},
	{
		name:   "a granted program that the plugin itself has replaced by a link",
		grants: []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/bin/tool"},
		inside: "os.rename('bin', 'b'); os.mkdir('bin'); os.symlink('" + secretDir + "/canary', 'bin/tool')",
		use:    "cat_ " + secretDir + "/canary; cat_ bin/tool",
	},
	{
		name:   "own files that were replaced by a link",
		grants: []string{"write:fs:" + trapDir}, own: trapDir + "/a/own",
		prepare: "mv a b && mkdir a && ln -s " + secretDir + " a/own",
		use:     "cat_ " + secretDir + "/canary; cat_ a/own/canary",
	},
	{
		name:   "own files behind a directory that was replaced",
		grants: []string{"write:fs:" + trapDir}, own: trapDir + "/a/own",
		prepare: "mv a b && ln -s c a && mkdir c && ln -s " + secretDir + " c/own",
		use:     "cat_ " + secretDir + "/canary; cat_ own/canary; cat_ a/own/canary",
	},
	{
		name:    "a granted program that was replaced by a link to a file",
		grants:  []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/tool"},
		prepare: "ln -sf " + secretDir + "/canary tool",
		use:     "cat_ " + secretDir + "/canary; cat_ tool",
	},
	{
		name:    "a granted program that was replaced by a link to another program",
		grants:  []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/tool"},
		prepare: "ln -sf " + secretDir + "/program tool",
		use:     secretDir + "/program; ./tool",
	},
	{
		name:    "a granted program that was replaced by a copy",
		grants:  []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/tool"},
		prepare: "rm tool && cp dropped tool",
		use:     "./tool",
	},
	{
		name:    "libraries beside a granted program that were replaced by a link",
		grants:  []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/bin/tool"},
		prepare: "rm -rf lib && ln -s " + secretDir + " lib",
		use:     "cat_ lib/canary; cat_ " + secretDir + "/canary",
	},
	{
		name:    "a file beside a granted program that was replaced by a link",
		grants:  []string{"write:fs:" + trapDir, "exec:tool:" + trapDir + "/bin/tool"},
		prepare: "ln -s " + secretDir + "/canary pyvenv.cfg",
		use:     "cat_ pyvenv.cfg; cat_ " + secretDir + "/canary",
	},
	{
		name:    "a granted directory that was replaced by a link, below one that is granted for writing",
		grants:  []string{"write:fs:" + trapDir, "read:fs:" + trapDir + "/a"},
		prepare: "mv a b && ln -s " + secretDir + " a",
		use:     "cat_ a/canary; cat_ " + secretDir + "/canary",
	},
	{
		name:    "a directory granted for writing that was replaced by a link, below another",
		grants:  []string{"write:fs:" + trapDir, "write:fs:" + trapDir + "/a"},
		prepare: "mv a b && ln -s " + secretDir + " a",
		use:     "cat_ a/canary; cat_ " + secretDir + "/canary",
	},
}

// TestTraps prepares each trap and uses it in the box. It is prepared free, as another program that
// may write there, or in the box by the plugin itself.
func TestTraps(t *testing.T) {
	needs(t)
	useEveryTrap(t, full)
}

// TestTrapsWithLandlockAlone does the same at the level without namespaces.
func TestTrapsWithLandlockAlone(t *testing.T) {
	needsLandlock(t)
	useEveryTrap(t, landlock)
}

func useEveryTrap(t *testing.T, level string) {
	t.Helper()
	for _, uid := range users() {
		t.Run("as "+userName(uid), func(t *testing.T) {
			t.Parallel()
			seen := 0
			inArena(t, visit{uid: uid, what: "traps", level: level}, func(line []byte) {
				a := decoded(t, line)
				seen++
				if a.Boxed.Escaped {
					t.Errorf("%s: %s", a.Name, a.Boxed.Why)
				}
				t.Logf("%-60s %s", a.Name, a.Boxed.Why)
			})
			if seen != len(traps) {
				t.Errorf("%d of %d traps were tried", seen, len(traps))
			}
		})
	}
}

// runTraps is what the host does for the task "traps".
func runTraps(c *canaries, b *boxes) error {
	out := json.NewEncoder(os.Stdout)
	for _, tr := range traps {
		if err := c.reset(); err != nil {
			return err
		}
		v, err := c.useTrap(b, tr)
		if err != nil {
			return fmt.Errorf("%s: %w", tr.name, err)
		}
		if err := out.Encode(attempt{Name: tr.name, Boxed: v}); err != nil {
			return err
		}
	}
	return nil
}

// useTrap prepares one trap and uses it.
func (c *canaries) useTrap(b *boxes, tr trap) (verdict, error) {
	if err := prepareTrap(c, cmp.Or(tr.prepare, ":")); err != nil {
		return verdict{}, err
	}
	o := sandbox.Options{System: b.system}
	if tr.own != "" {
		o.Own = []string{tr.own}
	}
	var err error
	if o.Grants, err = parse(tr.grants); err != nil {
		return verdict{}, err
	}
	trapped := &boxes{group: b.group, box: sandbox.New(o)}
	if tr.inside != "" {
		said, code, err := trapped.run([]string{python, "-S", "-E", "-c", "import os; os.chdir('" + trapDir + "'); " + tr.inside})
		if err != nil { // a box that cannot be built does not leak either
			return verdict{Why: err.Error()}, nil
		}
		if code != 0 {
			return verdict{Why: "it cannot be prepared: " + cut(said)}, nil
		}
	}
	said, _, err := trapped.run([]string{"/bin/bash", "-c", `cat_() { [[ ! -f $1 ]] || printf '%s ' "$(<"$1")"; }; cd ` + trapDir + "; " + tr.use})
	if err != nil { // a box that cannot be built does not leak either
		return verdict{Why: err.Error()}, nil
	}
	return c.judge("content "+strings.TrimSpace(said), effectTime), nil
}

// prepareTrap recreates the directory and runs the script in it.
func prepareTrap(c *canaries, script string) error {
	if err := os.RemoveAll(trapDir); err != nil {
		return err
	}
	for _, dir := range []string{"/a/own", "/bin", "/lib"} {
		if err := os.MkdirAll(trapDir+dir, 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"/tool", "/bin/tool"} {
		if err := os.WriteFile(trapDir+name, program("tool\n", "tool\n"), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(trapDir+"/dropped", program(c.secret, c.secret), 0o755); err != nil {
		return err
	}
	said, code, err := runFree(freeSpec{argv: []string{"/bin/bash", "-c", "cd " + trapDir + " && " + script}})
	if err == nil && code != 0 {
		err = fmt.Errorf("preparing it: %s", said)
	}
	return err
}
