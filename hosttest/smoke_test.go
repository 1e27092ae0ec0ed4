//go:build linux

package hosttest

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestSmoke is the turn that Patchbay must pass in every agent. One plugin blocks a call and adds context, one rewrites a call and
// edits a result; the three plugins of the protocol documents run beside them, unmodified.
func TestSmoke(t *testing.T) {
	each(t, func(s *stage) {
		s.plugin("warden")
		s.plugin("keeper.py")
		s.documentPlugins()
		s.withPatchbay()
		s.write(filepath.Join(s.project, "build", "precious"), "kept\n")
		s.write(filepath.Join(s.project, "secret"), "the password is hunter2\n")
		s.write(filepath.Join(s.project, "README.md"), "A project that changed.\n")

		s.run("please begin",
			[]string{"rm -rf build"},
			[]string{"echo raw >dish; cat dish"},
			[]string{"cat secret"},
			[]string{"sudo rm secret"},
		)

		s.blocked(0)
		s.rewritten(1)
		s.wantResult(2, "the password is [kept back]", "!hunter2")
		s.shellBlocked(3)
		s.wantFile("secret", "the password is hunter2\n")
		s.contextAdded("trunk", "README.md")
		s.audited("rm -rf build", "echo raw >dish; cat dish", "cat secret", "sudo rm secret")
		s.contains("the output", s.output, done)
	})
}

// blocked holds the call that the warden refuses: it did not run, and the model has the reason.
func (s *stage) blocked(n int) {
	s.Helper()
	s.wantFile("build/precious", "kept\n")
	s.wantResult(n, "warden: rm -rf is not done here")
}

// rewritten holds the call that the keeper rewrites. An agent that cannot rewrite refuses, and says what would have been run.
func (s *stage) rewritten(n int) {
	s.Helper()
	if s.product.noRewrite {
		s.wantFile("dish", "")
		s.wantResult(n, "echo cooked >dish; cat dish")
		return
	}
	s.wantFile("dish", "cooked\n")
	s.wantResult(n, "cooked", "!raw")
}

// shellBlocked holds the call that the documents' shell blocker replaces with a message.
func (s *stage) shellBlocked(n int) {
	s.Helper()
	s.wantResult(n, "Blocked by security policy")
}

// contextAdded holds what plugins add to the prompt: the warden's rule, and the state of the right repository.
func (s *stage) contextAdded(branch, changed string) {
	s.Helper()
	for _, text := range []string{"House rule: feed the cat.", "# Git Context", "Branch: " + branch, changed} {
		if !s.last().Says(text) {
			s.Errorf("the model was not sent %q", text)
		}
	}
}

// audited holds the log of the documents' audit logger: each call once, in the words of the built-in tools.
func (s *stage) audited(commands ...string) {
	s.Helper()
	log, _ := s.read(filepath.Join(s.home, ".local", "scaffold", "audit.log"))
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	if len(lines) != len(commands) {
		s.Errorf("the audit log has %d lines, want %d:\n%s", len(lines), len(commands), log)
		return
	}
	for i, command := range commands {
		s.contains("the audit log", lines[i], " TOOL shell ", `"cmd":`, quoteJSON(command))
	}
}
