//go:build linux

package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

// runMax limits one run of an agent. A run takes one to five seconds on an idle machine.
const runMax = 3 * time.Minute

// A stage has what one run of an agent needs: a home directory, a repository to work in, and a
// model with a script.
type stage struct {
	*testing.T

	product *product
	modules string   // where npm installed the agents
	home    string   // empty except for the files of the recipe
	project string   // a repository, the working directory
	environ []string // of the agent, beside those of the recipe

	installed bool // Patchbay's hooks are in the agent's config

	model  *modeltest.Server
	cursor *cursorBackend    // instead of the model, for Cursor
	script [][]string        // the shell commands of each answer of the model; after the last it says done
	asked  func(results int) // called at each request to the model, with the number of results it has; may be nil
	output string            // what the agent printed
}

// newStage makes the directories of a run. None is inside another, so that a search upwards from
// one does not find another.
func newStage(t *testing.T, p *product) *stage {
	t.Helper()
	s := &stage{T: t, product: p, modules: installed(t)}
	dir := shortDir(t)
	s.home, s.project = filepath.Join(dir, "home"), filepath.Join(dir, "work", "project")
	s.mkdir(s.home)
	s.model = modeltest.Scripted(t, s.next)
	s.cursor = newCursorBackend(t, s.next)
	s.repository("trunk")
	p.prepare(s)
	t.Cleanup(s.show)
	return s
}

// repository makes the working directory a repository with one commit on a branch of that name.
func (s *stage) repository(branch string) {
	s.Helper()
	s.write(filepath.Join(s.project, "README.md"), "A project.\n")
	s.git("init", "-q", "-b", branch)
	s.git("add", ".")
	s.git("-c", "user.name=dev", "-c", "user.email=dev@localhost", "commit", "-q", "-m", "begin")
}

// shortDir returns a directory with a short name for one test, because the kernel limits the path
// of a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// next is the model. Its answer depends only on how many calls have results, so that it does not
// matter how often the agent asks.
func (s *stage) next(r modeltest.Request) modeltest.Reply {
	if !r.OffersTools() {
		return modeltest.Reply{Text: "A title"}
	}
	results, n := len(r.Results()), 0
	if s.asked != nil {
		s.asked(results)
	}
	for _, commands := range s.script {
		if n >= results {
			return s.calls(n, commands)
		}
		n += len(commands)
	}
	return modeltest.Reply{Text: done, Input: 10, Output: 1}
}

// done is the last answer of the model.
const done = "All is done."

func (s *stage) calls(n int, commands []string) modeltest.Reply {
	reply := modeltest.Reply{Input: 10, Output: 1}
	for i, command := range commands {
		reply.Tools = append(reply.Tools, modeltest.Tool{ID: callID(n + i), Name: s.product.shell, Arguments: s.product.shellArguments(command)})
	}
	return reply
}

// callID returns the id of the nth call of a run, counted from 0.
func callID(n int) string { return fmt.Sprintf("call_%d", n) }

// run runs one turn with text as the user's message; the model answers as the script says.
func (s *stage) run(text string, script ...[]string) {
	s.Helper()
	if err := s.try(text, script...); err != nil {
		s.Fatal(err)
	}
}

// try is like run, for agents that may fail.
func (s *stage) try(text string, script ...[]string) error {
	s.Helper()
	s.script = script
	ctx, cancel := context.WithTimeout(s.Context(), runMax)
	defer cancel()
	argv := s.product.argv(s, text)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.project
	cmd.Env = s.environment()
	// A file, because a daemon that a hook has started may keep a pipe open.
	out, err := os.Create(filepath.Join(s.TempDir(), "output"))
	if err != nil {
		s.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	text, _ = s.read(out.Name())
	s.output += text
	if err != nil {
		return fmt.Errorf("%s: %w", s.product.name, err)
	}
	return nil
}

// environment returns the agent's environment: some of our variables, and those of the recipe.
func (s *stage) environment() []string {
	env := []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8"}
	return append(append(env, s.product.environ(s)...), s.environ...)
}

// requests returns what the model was sent.
func (s *stage) requests() []modeltest.Request {
	return append(s.model.Requests(), s.cursor.Requests()...)
}

// last returns the last request of the conversation, which has all results.
func (s *stage) last() modeltest.Request {
	s.Helper()
	requests := s.requests()
	for i := len(requests) - 1; i >= 0; i-- {
		if requests[i].OffersTools() {
			return requests[i]
		}
	}
	s.Fatal("the model got no request")
	return modeltest.Request{}
}

// result returns the result of the nth call, counted from 0, as the model received it.
func (s *stage) result(n int) string {
	s.Helper()
	results := s.last().Results()
	for _, r := range results {
		if r.ID == callID(n) {
			return r.Text
		}
	}
	if n < len(results) && results[n].ID == "" {
		return results[n].Text
	}
	s.Fatalf("call %d has no result: %+v", n, results)
	return ""
}

// wantResult checks that the result of the nth call contains certain texts, and not those after a
// "!".
func (s *stage) wantResult(n int, parts ...string) {
	s.Helper()
	s.contains(fmt.Sprintf("the result of call %d", n), s.result(n), parts...)
}

func (s *stage) contains(what, text string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		unwanted, not := strings.CutPrefix(part, "!")
		if not && strings.Contains(text, unwanted) {
			s.Errorf("%s contains %q: %s", what, unwanted, text)
		} else if !not && !strings.Contains(text, part) {
			s.Errorf("%s lacks %q: %s", what, part, text)
		}
	}
}

// wantFile checks the contents of a file in the project; "" means that it must not exist.
func (s *stage) wantFile(name, want string) {
	s.Helper()
	got, ok := s.read(filepath.Join(s.project, name))
	switch {
	case want == "" && ok:
		s.Errorf("%s is there: %q", name, got)
	case want != "" && got != want:
		s.Errorf("%s: %q, want %q (there: %v)", name, got, want, ok)
	}
}

// show prints details that help to understand a failure.
func (s *stage) show() {
	if !s.Failed() && os.Getenv("HOSTS_SHOW") == "" {
		return
	}
	s.Logf("the agent printed:\n%s", s.output)
	for i, r := range s.requests() {
		var text bytes.Buffer
		if json.Indent(&text, r.Body, "", " ") != nil {
			text.Write(r.Body)
		}
		if os.Getenv("HOSTS_SHOW") == "" && text.Len() > 0 {
			s.Logf("request %d: %s, %d bytes, results %+v", i, r.Path, text.Len(), r.Results())
			continue
		}
		s.Logf("request %d: %s\n%s", i, r.Path, text.String())
	}
}

func (s *stage) mkdir(path string) {
	s.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		s.Fatal(err)
	}
}

// write writes a file, with its directory.
func (s *stage) write(path, text string) {
	s.Helper()
	s.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// writeJSON writes a value as a JSON file.
func (s *stage) writeJSON(path string, v any) {
	s.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		s.Fatal(err)
	}
	s.write(path, string(text)+"\n")
}

func (s *stage) read(path string) (text string, there bool) {
	s.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return string(data), err == nil
}

func (s *stage) git(args ...string) {
	s.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = s.project
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("git %s: %v: %s", args, err, out)
	}
}
