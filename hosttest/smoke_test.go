//go:build linux

package hosttest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSmoke: in every agent, one plugin blocks a call and adds context, and another rewrites a call
// and edits a result.
func TestSmoke(t *testing.T) {
	each(t, func(s *stage) {
		s.plugin("warden")
		s.plugin("keeper.py")
		s.withPatchbay()
		s.write(filepath.Join(s.project, "build", "precious"), "kept\n")
		s.write(filepath.Join(s.project, "secret"), "the password is hunter2\n")

		s.run("please begin", []string{"rm -rf build"}, []string{"echo raw >dish; cat dish"}, []string{"cat secret"})

		s.logResults()
		s.blocked(0)
		s.rewritten(1)
		s.edited(2)
		s.contextAdded("House rule: feed the cat.")
		s.contains("the output", s.output, done)
		s.sessions(s.project)
	})
}

// TestDocuments: three plugins of the protocol documents work unmodified in two repositories: the
// shell blocker, the audit logger and the git context.
func TestDocuments(t *testing.T) {
	each(t, func(s *stage) {
		s.documentPlugins()
		s.withPatchbay()
		s.write(filepath.Join(s.project, "secret"), "kept\n")
		s.write(filepath.Join(s.project, "README.md"), "A project that changed.\n")

		s.run("please begin", []string{"sudo rm secret"}, []string{"cat secret"})

		s.logResults()
		s.wantResult(0, "Blocked by security policy")
		s.wantResult(1, "kept")
		s.gitContext("trunk")
		s.audited("sudo rm secret", "cat secret")
		s.elsewhere()
	})
}

// logResults logs the result of each call that the model received.
func (s *stage) logResults() {
	s.Helper()
	n := 0
	for _, commands := range s.script {
		for _, command := range commands {
			s.Logf("%s -> %q", command, s.result(n))
			n++
		}
	}
}

// elsewhere runs a turn in another repository, with the same daemon.
func (s *stage) elsewhere() {
	s.Helper()
	before, one := s.daemons(), s.project
	s.project = filepath.Join(filepath.Dir(one), "other")
	s.repository("branch-of-the-other")
	s.write(filepath.Join(s.project, "README.md"), "Another project that changed.\n")
	s.run("please begin", []string{"pwd"})
	s.gitContext("branch-of-the-other")
	s.wantResult(0, s.project)
	s.sessions(one, s.project)
	if after := s.daemons(); len(before) != 1 || !slices.Equal(before, after) {
		s.Errorf("the daemons were %v and are %v, want one that stays", before, after)
	}
}

// sessions checks that the daemon has one session of the agent in each of these directories.
func (s *stage) sessions(dirs ...string) {
	s.Helper()
	var all []struct {
		Host string `json:"host"`
		Dir  string `json:"working_dir"`
	}
	if err := json.Unmarshal([]byte(s.daemon("/v1/sessions")), &all); err != nil {
		s.Fatal(err)
	}
	for _, dir := range dirs {
		n := 0
		for _, one := range all {
			if one.Host == s.product.name && one.Dir == dir {
				n++
			}
		}
		if n != 1 || len(all) != len(dirs) {
			s.Errorf("%d sessions in %s: %+v", n, dir, all)
		}
	}
}

// edited checks that the model gets the result as the plugin keeper edits it, and not the original,
// unless the agent cannot replace results.
func (s *stage) edited(n int) {
	s.Helper()
	s.wantResult(n, "the password is [kept back]")
	if !s.product.noResult {
		s.wantResult(n, "!hunter2")
	}
}

// blocked checks the call that the plugin warden refuses: it did not run, and the model has the
// reason.
func (s *stage) blocked(n int) {
	s.Helper()
	s.wantFile("build/precious", "kept\n")
	s.wantResult(n, "warden: rm -rf is not done here")
}

// rewritten checks the call that the plugin keeper rewrites. An agent that cannot rewrite must
// refuse it and name the rewritten command.
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

// gitContext checks that the prompt has the state of the right repository.
func (s *stage) gitContext(branch string) {
	s.Helper()
	s.contextAdded("# Git Context\nBranch: " + branch + "\nChanges:\nREADME.md")
}

// contextAdded checks the context that plugins add to the prompt. If the agent drops it, the trace
// must have it.
func (s *stage) contextAdded(text string) {
	s.Helper()
	switch {
	case s.product.noContext:
		s.traced(text)
	case !s.last().Says(text):
		s.Errorf("the model was not sent %q", text)
	}
}

// traced waits until a text is in the traces, which are written after the agent has its answer.
func (s *stage) traced(text string) {
	s.Helper()
	quoted := strings.Trim(quoteJSON(text), `"`)
	s.await("the trace of "+text, func() bool {
		traces := s.daemon("/v1/traces")
		return strings.Contains(traces, quoted) || strings.Contains(traces, strings.Trim(quoteJSON(quoted), `"`)) // JSON in a JSON string
	})
}

// audited checks the log of the audit logger: each call once, with the names of the built-in tools.
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
