//go:build linux

package hosttest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// matrixVar turns the matrix on. It takes an hour; the smoke test takes minutes.
const matrixVar = "HOSTS_MATRIX"

// rows lists the failures. Each is tested with every agent.
var rows = []struct {
	name string
	test func(*stage)
}{
	{"a plugin crashes: the call goes on", fault("crash", false, "")},
	{"a plugin crashes, on_failure = deny: the call is denied", fault("crash", true, "")},
	{"a plugin is slow: the call goes on", fault("slow", false, "1s")},
	{"a plugin is slow, on_failure = deny: the call is denied", fault("slow", true, "1s")},
	{"a plugin garbles: the call goes on", fault("garble", false, "20s")},
	{"a plugin garbles, on_failure = deny: the call is denied", fault("garble", true, "20s")},
	{"the daemon is killed between two calls: the plugins are called again", killed},
	{"no plugin can be called: the call goes on", missing(false)},
	{"no plugin can be called, on_failure = deny: the call is denied", missing(true)},
	{"no plugin can be called, on_failure = deny, PATCHBAY_HOOK=off: the call goes on", off},
	{"the hook's program is missing: the agent decides", gone},
	{"two calls in one answer: one is rewritten, one blocked", together},
	// A minute each.
	{"a plugin is slower than the agent waits: the call goes on", fault("slow", false, "10m")},
	{"a plugin is slower than the agent waits, on_failure = deny: the call is denied", fault("slow", true, "10m")},
}

func TestMatrix(t *testing.T) {
	installed(t)
	if os.Getenv(matrixVar) == "" {
		t.Skipf("%s is not set: make test-hosts %s=1 runs it, which takes an hour", matrixVar, matrixVar)
	}
	var table strings.Builder
	for _, p := range products {
		fmt.Fprintf(&table, "%-9s", p.name)
	}
	for _, r := range rows {
		cells := map[*product]string{} // only for the agents that are tested
		t.Run(r.name, func(t *testing.T) {
			for _, p := range products {
				t.Run(p.name, func(t *testing.T) {
					t.Cleanup(func() { cells[p] = map[bool]string{true: "FAILED", false: "ok"}[t.Failed()] })
					r.test(newStage(t, p))
				})
			}
		})
		table.WriteByte('\n')
		for _, p := range products {
			fmt.Fprintf(&table, "%-9s", cmp.Or(cells[p], "-"))
		}
		table.WriteString(r.name)
	}
	t.Logf("the matrix:\n%s", &table)
}

// fault tests a plugin that misbehaves at one call and is called again for the next one.
func fault(how string, closed bool, timeout string) func(*stage) {
	return func(s *stage) {
		s.plugin("faulty", "FAULT", how)
		s.faulty(closed, timeout)
		s.withPatchbay()
		script := [][]string{{"echo trouble >ran; cat ran"}}
		again := how == "garble" || !closed && timeout != "10m" // otherwise the plugin restarts or is busy, and the next call has the same result
		if again {
			script = append(script, []string{"echo fine >later; cat later"})
		}
		s.run("please begin", script...)
		s.denied(0, closed)
		if again {
			s.wantFile("later", "fine\n")
			s.wantResult(1, "fine")
		}
	}
}

// faulty configures the plugin of that name.
func (s *stage) faulty(closed bool, timeout string) {
	s.Helper()
	config := "[plugins.faulty]"
	if closed {
		config += "\non_failure = \"deny\""
	}
	if timeout != "" {
		config += "\ntimeout = \"" + timeout + "\""
	}
	s.configure(config)
}

// denied checks the call that writes a file named ran. If closed, the call must be denied with the
// plugin's name; otherwise it must be let through.
func (s *stage) denied(n int, closed bool) {
	s.Helper()
	if closed {
		s.wantFile("ran", "")
		s.wantResult(n, "faulty")
		return
	}
	s.wantFile("ran", "trouble\n")
	s.wantResult(n, "trouble")
}

// killed tests a daemon that is killed while the model answers.
func killed(s *stage) {
	s.plugin("warden")
	s.withPatchbay()
	s.write(filepath.Join(s.project, "build", "precious"), "kept\n")
	s.asked = func(results int) {
		if results == 1 {
			s.killDaemon()
		}
	}
	s.run("please begin", []string{"echo one"}, []string{"rm -rf build"}, []string{"echo three"})
	s.blocked(1)
	s.wantResult(2, "three")
}

// missing tests a hook that finds neither a daemon nor the program to start one.
func missing(closed bool) func(*stage) {
	return func(s *stage) {
		s.withoutPlugins(closed)
		s.run("please begin", []string{"echo trouble >ran; cat ran"})
		s.denied(0, closed)
		if closed {
			s.wantResult(0, "PATCHBAY_HOOK=off", "hook install "+s.product.name+" --uninstall")
		}
	}
}

// off tests PATCHBAY_HOOK=off, which the hook's denial recommends if no plugin can be called.
func off(s *stage) {
	s.withoutPlugins(true)
	s.environ = append(s.environ, "PATCHBAY_HOOK=off")
	s.run("please begin", []string{"echo trouble >ran; cat ran"})
	s.denied(0, false)
}

// withoutPlugins makes a stage on which a plugin was called once, and now no plugin can be called.
func (s *stage) withoutPlugins(closed bool) {
	s.Helper()
	s.plugin("faulty", "FAULT", "nothing")
	s.faulty(closed, "")
	s.withPatchbay()
	s.run("please begin", []string{"echo fine"})
	s.killDaemon()
	s.remove("patchbay")
}

func (s *stage) remove(program string) {
	s.Helper()
	if err := os.Remove(s.program(program)); err != nil {
		s.Fatal(err)
	}
}

// gone tests Patchbay's programs that were removed although the hooks are still installed. No code
// of ours runs then: the test shows the behaviour of agents that docs/hosts warns of.
func gone(s *stage) {
	s.withPatchbay()
	s.remove("patchbay")
	s.remove("patchbay-hook")
	err := s.try("please begin", []string{"echo trouble >ran; cat ran"})
	_, ran := s.read(filepath.Join(s.project, "ran"))
	s.Logf("the call ran: %v; the agent ended with %v", ran, err)
	if ran == s.product.strict {
		s.Errorf("the call ran: %v, want %v", ran, !s.product.strict)
	}
}

// together tests two calls in one answer of the model.
func together(s *stage) {
	s.plugin("warden")
	s.plugin("keeper.py")
	s.withPatchbay()
	s.write(filepath.Join(s.project, "build", "precious"), "kept\n")
	s.run("please begin", []string{"echo raw >dish; cat dish", "rm -rf build"}, []string{"echo three"})
	s.rewritten(0)
	s.blocked(1)
	s.wantResult(2, "three")
}
