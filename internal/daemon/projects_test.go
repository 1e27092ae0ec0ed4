package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// where is a scaffold plugin that adds its working directory to the prompt.
const where = `#!/bin/bash
while read -r line; do
  id=$(sed -E 's/.*"id":([0-9]+).*/\1/' <<<"$line")
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"name":"where","version":"1.0.0","hooks":["context_enhance"],"tools":[{"name":"dir","description":"d"}]}}';;
    *'"hook/context_enhance"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"dynamic_context":"at '$PWD'"}}';;
    *'"tool/execute"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"success":true,"result":"'$PWD'"}}';;
    *'"shutdown"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{}}'; exit 0;;
    *) echo '{"jsonrpc":"2.0","id":'$id',"result":{"action":"continue"}}';;
  esac
done
`

// script installs the program of a scaffold plugin.
func (h testHome) script(name, text string) {
	h.t.Helper()
	if err := os.Chmod(h.write(".local/scaffold/plugins/"+name, text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// repository makes a repository whose branch has the given name, and returns its directory.
func repository(t *testing.T, name string) string {
	t.Helper()
	plugtest.NeedTool(t, "git")
	dir := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("git", "init", "-q", "-b", name, dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return dir
}

// enhanced returns the prompt's context after plugins changed it, in a turn of a session that works
// in dir.
func (h testHome) enhanced(c *Core, dir string) string {
	h.t.Helper()
	s, err := c.Sessions.Create(h.t.Context(), session.Session{WorkingDir: dir})
	if err != nil {
		h.t.Fatal(err)
	}
	var seen string
	if _, err := c.Turn(h.t.Context(), TurnRequest{Session: s.ID, Text: "hi", Observe: func(e chat.Event) {
		if e.Outcome != nil && e.Outcome.Point == hook.PromptContext {
			seen = string(e.Outcome.Payload)
		}
	}}); err != nil {
		h.t.Fatal(err)
	}
	return seen
}

// TestPluginsRunWhereTheWorkIs runs sessions in two repositories of one daemon. The example plugin
// for git tells each session about its own repository.
func TestPluginsRunWhereTheWorkIs(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	h := newTestHome(t)
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "plugins", "git-status"))
	if err != nil {
		t.Fatal(err)
	}
	h.script("git-status", string(example))
	c := h.open("")
	for _, name := range []string{"first", "second", "first"} {
		repo := repository(t, name)
		inside := filepath.Join(repo, "a", "b")
		if err := os.MkdirAll(inside, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{repo, inside} {
			if got := h.enhanced(c, dir); !strings.Contains(got, "commits yet on "+name) {
				t.Errorf("in %s: %s", dir, got)
			}
		}
	}
	if got := h.enhanced(c, h.home); strings.Contains(got, "commits yet") {
		t.Errorf("outside of any repository: %s", got)
	}
}

// TestSeedGitContext runs the git plugin that the protocol's document prints, unchanged, in two
// repositories of one daemon.
func TestSeedGitContext(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	for _, b := range plugtest.Seed(t, "003").Blocks("python") {
		if strings.Contains(b.Text, `"name":"git-context"`) {
			h.script("git-context", b.Text)
		}
	}
	c := h.open("")
	for _, name := range []string{"first", "second", "first"} {
		if got := h.enhanced(c, repository(t, name)); !strings.Contains(got, `# Git Context\nBranch: `+name+`\n`) {
			t.Errorf("in %s: %s", name, got)
		}
	}
}

// TestAProjectsPlugins checks that a plugin runs in the directory of each project, and that its
// counters count its calls in all of them.
func TestAProjectsPlugins(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	one, two := repository(t, "one"), repository(t, "two")
	for _, dir := range []string{h.home, one, two, one} {
		if got := h.enhanced(c, dir); !strings.Contains(got, `"at `+dir+`"`) {
			t.Errorf("a session in %s: %s", dir, got)
		}
	}
	before := callsOf(t, c.Host)
	host, done, err := c.projects.in(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	r, err := host.CallTool(t.Context(), "plugin_where_dir", nil)
	if err != nil || r.Result != one {
		t.Errorf("a tool called in %s: %+v, %v", one, r, err)
	}
	if got := callsOf(t, c.Host); got != before+1 {
		t.Errorf("counted %d calls after %d and one in another project", got, before)
	}
	done()
	if n := len(c.projects.hosts()); n != 3 {
		t.Errorf("%d sets of plugins, want the daemon's own and two", n)
	}
}

func callsOf(t *testing.T, host *pluginhost.Host) int64 {
	t.Helper()
	p, err := host.Plugin("where")
	if err != nil {
		t.Fatal(err)
	}
	return p.Counters.Calls
}

// TestProjectsAreFew checks that the plugins of a project are closed when they are unused for a
// while, or when another project needs their place. Plugins in use are never closed.
func TestProjectsAreFew(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	p := c.projects
	p.most = 2
	a, b, d := repository(t, "a"), repository(t, "b"), repository(t, "d")
	hostA, doneA, err := p.in(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	_, doneB, err := p.in(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := p.in(short, d); err == nil {
		t.Fatal("a third project beside two that are in use")
	}
	doneB()
	_, doneD, err := p.in(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hostA.Fire(t.Context(), hook.PromptContext, nil); err != nil {
		t.Errorf("the plugins in use do not work: %v", err)
	}
	if got := p.roots(); got != a+" "+d {
		t.Errorf("open: %s", got)
	}
	p.mu.Lock()
	p.idle = time.Millisecond
	p.mu.Unlock()
	doneA()
	doneD()
	eventually.True(t, "idle ones are closed", func() bool { return p.roots() == "" })
	if _, err := hostA.Fire(t.Context(), hook.PromptContext, nil); err == nil {
		eventually.True(t, "the plugins of a project that was closed end", func() bool {
			_, err := hostA.Fire(t.Context(), hook.PromptContext, nil)
			return err != nil
		})
	}
}

// roots lists the projects other than the daemon's own.
func (p *projects) roots() string {
	var roots []string
	for _, host := range p.hosts()[1:] {
		roots = append(roots, host.Project())
	}
	return strings.Join(slices.Sorted(slices.Values(roots)), " ")
}

// TestAPlaceThatBecomesFree checks that a caller who waits for a place gets that of a project that
// could not be opened.
func TestAPlaceThatBecomesFree(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	p := c.projects
	p.most = 1
	gone := &project{root: filepath.Join(h.home, "gone"), ready: make(chan struct{}), users: 1}
	p.sets[gone.root] = gone
	b := repository(t, "b")
	at, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	_, freed, err := p.try(b, at)
	if err != nil || freed == nil {
		t.Fatalf("a second project beside one that is being opened: %v", err)
	}
	p.open(t.Context(), gone)
	select {
	case <-freed:
	default:
		t.Error("the waiting caller is not told")
	}
	p.leave(gone)
	_, done, err := p.in(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	done()
}

// TestAReloadReachesAProjectThatIsBeingOpened: what was configured meanwhile holds there too.
func TestAReloadReachesAProjectThatIsBeingOpened(t *testing.T) {
	h := newTestHome(t)
	dir := repository(t, "slow")
	h.script("where", strings.Replace(where, "while", "[[ $PWD != */slow ]] || { touch begun; until [ -e go ]; do sleep 0.01; done; }\nwhile", 1))
	c := h.open("")
	opened, reloaded := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(opened)
		if _, done, err := c.projects.in(context.Background(), dir); err != nil {
			t.Error(err)
		} else {
			done()
		}
	}()
	eventually.True(t, "the plugin is being started", func() bool { _, err := os.Stat(filepath.Join(dir, "begun")); return err == nil })
	h.write(".config/patchbay/config.toml", "[plugins.where]\nenabled = false\n")
	go func() { reloaded <- c.Reload(context.Background()) }()
	off := func(host *pluginhost.Host) bool { return host.Plugins()[0].State == dialect.Disabled }
	eventually.True(t, "the daemon's own plugins are reloaded", func() bool { return off(c.Host) })
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-opened
	if err := <-reloaded; err != nil {
		t.Fatal(err)
	}
	if !off(c.projects.hosts()[1]) {
		t.Error("a plugin that was disabled meanwhile runs in the project")
	}
}

// TestAClosedProjectHasNoPendingCalls: calls in other projects are no reason for a warning.
func TestAClosedProjectHasNoPendingCalls(t *testing.T) {
	h := newTestHome(t)
	h.script("where", strings.Replace(where, "'\"tool/execute\"'*)", "'\"tool/execute\"'*) touch begun; until [ -e go ]; do sleep 0.01; done;", 1))
	o := h.options()
	log := new(plugtest.Log)
	o.Host.Logger = slog.New(slog.NewTextHandler(log, nil))
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.close(c) })
	_, done, err := c.projects.in(t.Context(), repository(t, "other"))
	if err != nil {
		t.Fatal(err)
	}
	done()
	called := make(chan error, 1)
	go func() {
		_, err := c.Host.CallTool(context.Background(), "plugin_where_dir", nil)
		called <- err
	}()
	eventually.True(t, "a call is pending", func() bool { _, err := os.Stat(filepath.Join(h.home, "begun")); return err == nil })
	if err := c.projects.hosts()[1].Close(); err != nil {
		t.Error(err)
	}
	h.write("go", "")
	if err := <-called; err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "pending") {
		t.Error(log)
	}
}

// TestProjectsAtOnce runs many turns at once, in more projects than can be open at the same time.
// Each turn gets the plugins of its own project.
func TestProjectsAtOnce(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	var repos []string
	for i := range 3 {
		repos = append(repos, repository(t, fmt.Sprint("r", i)))
	}
	c.projects.most = 2
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			dir := repos[i%len(repos)]
			if got := h.enhanced(c, dir); !strings.Contains(got, `"at `+dir+`"`) {
				t.Errorf("in %s: %s", dir, got)
			}
		})
	}
	all.Wait()
}

// TestADirectoryThatIsGone checks that a session whose directory is gone cannot run a turn but can
// be deleted.
func TestADirectoryThatIsGone(t *testing.T) {
	h := newTestHome(t)
	s := h.serve("", Limits{})
	dir := repository(t, "gone")
	made := s.do("POST", "/session", `{"working_dir":"`+dir+`"}`)
	id := strings.Split(made.body, `"`)[3]
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := s.do("POST", "/session/"+id+"/message", `{"text":"hi"}`); got.status != 400 || !strings.Contains(got.body, "is gone: create it again") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.do("DELETE", "/session/"+id, ""); got.status >= 300 {
		t.Errorf("the session cannot be deleted: %d %s", got.status, got.body)
	}
}

// TestADirectoryThatIsMadeAgain checks that plugins work in the directory that has the project's
// path now, and that those in the removed one go on until their last event has ended.
func TestADirectoryThatIsMadeAgain(t *testing.T) {
	h := newTestHome(t)
	h.script("where", strings.ReplaceAll(where, "'$PWD'", "'$(cat mark 2>&1)'"))
	c := h.open("")
	dir := filepath.Join(t.TempDir(), "again")
	var old *pluginhost.Host
	for _, mark := range []string{"one", "two"} {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "mark"), []byte(mark), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := h.enhanced(c, dir); !strings.Contains(got, "at "+mark) {
			t.Errorf("in the directory %s: %s", mark, got)
		}
		if old != nil {
			if _, err := old.Fire(t.Context(), hook.PromptContext, nil); err != nil {
				t.Errorf("plugins that are in use: %v", err)
			}
			continue
		}
		host, done, err := c.projects.in(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		old = host
		defer eventually.True(t, "the old ones are closed", func() bool { _, err := host.Fire(t.Context(), hook.PromptContext, nil); return err != nil })
		defer done()
	}
}

// TestALinkIsNoOtherProject checks that a project reached through a link uses the plugins that are
// already open for it.
func TestALinkIsNoOtherProject(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	repo := repository(t, "real")
	inside := filepath.Join(repo, "inside")
	links := t.TempDir()
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"repo": repo, "part": inside, "home": h.home} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{repo: repo, "repo": repo, "part": repo, "repo/inside": repo, "home": h.home} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(links, dir)
		}
		if got := h.enhanced(c, dir); !strings.Contains(got, `"at `+want+`"`) {
			t.Errorf("a session in %s: %s", dir, got)
		}
	}
	if got := c.projects.roots(); got != repo {
		t.Errorf("open in addition to the daemon's own: %s", got)
	}
}

// TestAProjectWhoseConfigBreaks checks that a project in use keeps its config if its file can no
// longer be read, which is a finding, and that the user's own changes are applied nevertheless.
func TestAProjectWhoseConfigBreaks(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	dir := repository(t, "breaks")
	host, done, err := c.projects.in(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	file := filepath.Join(dir, ".patchbay", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"", "x = [\n", ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		broken := i == 1
		h.write(".config/patchbay/config.toml", fmt.Sprintf("[plugins.where]\nenabled = %t\n", !broken))
		if err := c.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := host.Plugins()[0].State; (got == dialect.Disabled) != broken {
			t.Errorf("%q: the plugin is %s", text, got)
		}
		found := slices.ContainsFunc(c.projects.findings(), func(f pluginhost.Finding) bool {
			return f.Where == file+":1:6" && f.Severity == pluginhost.SeverityError && f.Fix != "" &&
				strings.HasPrefix(f.Problem, "in "+dir+": the project's config cannot be read again, and stays as it was: ")
		})
		if found != broken {
			t.Errorf("%q: %+v", text, c.projects.findings())
		}
	}
}

// TestAProjectWhoseConfigIsBroken checks that a session there gets an error with the file, the line
// and the fix.
func TestAProjectWhoseConfigIsBroken(t *testing.T) {
	h := newTestHome(t)
	s := h.serve("", Limits{})
	dir := repository(t, "broken")
	file := filepath.Join(dir, ".patchbay", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	made := s.do("POST", "/session", `{"working_dir":"`+dir+`"}`)
	id := strings.Split(made.body, `"`)[3]
	for text, want := range map[string]string{
		"x = [\n":                          file + ":1:6: ",
		"[plugins.a]\nenv = [\"TOKEN\"]\n": file + ":2:7: plugins.a.env: a project's configuration has nothing but [plugins.NAME] config; take it out, or put it into your own config.toml",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := s.do("POST", "/session/"+id+"/message", `{"text":"hi"}`); got.status != 400 || !strings.Contains(got.body, want) {
			t.Errorf("%q: %d %s", text, got.status, got.body)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := s.do("POST", "/session/"+id+"/message", `{"text":"hi"}`); got.status != 200 {
		t.Errorf("after the file is corrected: %d %s", got.status, got.body)
	}
}
