package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// marker returns the code of a Python plugin that replaces each command. The new command tells the
// plugin's name and how many calls the turn had.
func marker(name string) string {
	return `__plugin__ = {"api": "1.0", "name": "` + name + `"}
@on_tool_call
async def mark(ctx, call):
    ctx.state["n"] = ctx.state.get("n", 0) + 1
    return ToolCall(call.tool_name, call.tool_call_id, {"cmd": "echo ` + name + ` " + str(ctx.state["n"])})
`
}

// preToolUse returns the event of a shell call in Claude Code.
func preToolUse(dir, session, prompt string) hookclient.Request {
	return hookRequest("PreToolUse", map[string]any{"session_id": session, "prompt_id": prompt, "cwd": dir, "transcript_path": "/x",
		"tool_name": "Bash", "tool_input": map[string]string{"command": "ls"}, "tool_use_id": "toolu_1"})
}

func hookRequest(event string, fields map[string]any) hookclient.Request {
	data, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return hookclient.NewRequest(codehook.Input{Event: event, Dir: "/", Data: data}, pluginhost.Version)
}

func (h testHome) answer(c *Core, r hookclient.Request) *hookclient.Answer {
	h.t.Helper()
	a, err := c.AnswerHook(h.t.Context(), codehook.Claude, r)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func TestHookAnswers(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	words := h.write(".local/scaffold/plugins/words", `#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    result = {"name": "words", "version": "1", "hooks": [], "tools": [{"name": "count", "description": "counts", "parameters": []}]} if m["method"] == "initialize" else {"ok": True}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
`)
	if err := os.Chmod(words, 0o755); err != nil {
		t.Fatal(err)
	}
	h.write(".agent/plugins/a.py", marker("a"))
	c := h.open("")
	t.Run("the changes of plugins are in the agent's format", func(t *testing.T) {
		if got := h.answer(c, preToolUse(h.home, "s", "p")); !strings.Contains(got.Stdout, `"updatedInput":{"command":"echo a 1"}`) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("one turn of the agent is one request", func(t *testing.T) {
		if got := h.answer(c, preToolUse(h.home, "s", "p")); !strings.Contains(got.Stdout, "echo a 2") {
			t.Errorf("the same turn: %+v", got)
		}
		if got := h.answer(c, preToolUse(h.home, "s", "q")); !strings.Contains(got.Stdout, "echo a 1") {
			t.Errorf("another turn: %+v", got)
		}
		if got := h.answer(c, preToolUse(h.home, "other", "p")); !strings.Contains(got.Stdout, "echo a 1") {
			t.Errorf("another session: %+v", got)
		}
	})
	t.Run("a directory that is gone", func(t *testing.T) {
		if got := h.answer(c, preToolUse(filepath.Join(h.home, "gone"), "s3", "p")); !strings.Contains(got.Stdout, "echo a 1") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("an invalid event", func(t *testing.T) {
		r := preToolUse(h.home, "s", "p")
		r.Input = json.RawMessage(`"{ garbled"`)
		if _, err := c.AnswerHook(t.Context(), codehook.Claude, r); !is[*httpapi.InvalidRequestError](err) {
			t.Errorf("%v", err)
		}
	})
	t.Run("many at once", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				r := preToolUse(h.home, fmt.Sprint("many", i%4), fmt.Sprint("p", i))
				if got, err := c.AnswerHook(t.Context(), codehook.Claude, r); err != nil || !strings.Contains(got.Stdout, "echo a 1") {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		all.Wait()
	})
	t.Run("a call of our own MCP server, which asks the plugins itself", func(t *testing.T) {
		const count = "mcp__patchbay__plugin_words_count"
		ask := func(event, tool string) string {
			return h.answer(c, hookRequest(event, map[string]any{"session_id": "own", "prompt_id": tool + event, "cwd": h.home, "transcript_path": "/x",
				"tool_name": tool, "tool_input": map[string]string{}, "tool_response": []any{}})).Stdout
		}
		calls := func(rule string, tools ...string) {
			t.Helper()
			for _, tool := range tools {
				if got := ask("PreToolUse", tool); !strings.Contains(got, "echo a ") {
					t.Errorf("%s: %s: %q", rule, tool, got)
				}
			}
		}
		calls("no server of ours runs", count)
		dead := filepath.Join(c.Dirs.State, ownServers, "1.builtin")
		h.write(strings.TrimPrefix(dead, h.home), "")
		calls("our server is dead", count, "mcp__patchbay__shell")
		if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("its file: %v", err)
		}
		end, err := c.AnnounceMCP(MCPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := ask("PreToolUse", count) + ask("PostToolUse", count); got != "" {
			t.Errorf("a tool that we offer: %q", got)
		}
		calls("tools that we do not offer", "mcp__patchbay__count", "mcp__patchbay__two__plugin_words_count", "mcp__patchbay__shell")
		end()
		calls("our server has ended", count)
		if end, err = c.AnnounceMCP(MCPOptions{Builtin: true}); err != nil {
			t.Fatal(err)
		}
		defer end()
		if got := ask("PreToolUse", "mcp__patchbay__shell"); got != "" {
			t.Errorf("a built-in tool that we offer: %q", got)
		}
	})
	t.Run("in a project with a wrong configuration every call is refused, with the reason", func(t *testing.T) {
		h.write("bad/.git/x", "")
		h.write("bad/.patchbay/config.toml", "nonsense = [")
		if got := h.answer(c, preToolUse(filepath.Join(h.home, "bad"), "s4", "p")); !strings.Contains(got.Stdout, `"deny"`) ||
			!strings.Contains(got.Stdout, "because the configuration for this project has an error") || !strings.Contains(got.Stdout, "bad/.patchbay/config.toml:1:") {
			t.Errorf("%+v", got)
		}
	})
}

func TestTurnsOfOtherAgents(t *testing.T) {
	var s hostState
	at := func(event string, fields map[string]any) (string, string) {
		t.Helper()
		fields["hook_event_name"], fields["session_id"] = event, "s"
		r := hookRequest(event, fields)
		m, err := r.Moment(codehook.Claude)
		if err != nil {
			t.Fatal(err)
		}
		return s.turn("ses_x", m), m.UserText
	}
	before, _ := at("SessionStart", map[string]any{"source": "startup"})
	first, text := at("UserPromptSubmit", map[string]any{"prompt": "fix it"})
	if before == first || text != "fix it" {
		t.Errorf("%s %s %q", before, first, text)
	}
	if got, text := at("PreToolUse", map[string]any{"tool_name": "Bash", "tool_input": map[string]any{}}); got != first || text != "fix it" {
		t.Errorf("a call belongs to another turn, or does not have the user's message: %s %q", got, text)
	}
	if got, _ := at("Stop", map[string]any{"last_assistant_message": "done"}); got != first {
		t.Errorf("the end belongs to another turn: %s", got)
	}
	if got, _ := at("UserPromptSubmit", map[string]any{"prompt": "again"}); got == first {
		t.Error("two messages are one turn")
	}
	own, _ := at("PreToolUse", map[string]any{"prompt_id": "p", "tool_name": "Bash", "tool_input": map[string]any{}})
	if again, _ := at("PostToolUse", map[string]any{"prompt_id": "p", "tool_name": "Bash", "tool_input": map[string]any{}, "tool_response": map[string]any{}}); own != again {
		t.Errorf("one turn by the agent's own id: %s, %s", own, again)
	}
}

// TestAProbeIsNoSession: the probe of `patchbay hook status` is answered, but not listed as a
// session.
func TestAProbeIsNoSession(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	h.answer(c, preToolUse(h.home, codehook.ProbeSession, "p"))
	h.answer(c, preToolUse(h.home, "s1", "p"))
	c.hostRecords.close()
	list, err := c.Sessions.List(t.Context())
	if err != nil || len(list) != 1 || list[0].HostSession != "s1" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestDoubles(t *testing.T) {
	var s hostState
	see := func(agent codehook.Agent, id string) bool {
		m := &codehook.Moment{Agent: agent, Session: "s", CallID: id}
		return s.isDouble(m)
	}
	for _, c := range []struct {
		rule  string
		agent codehook.Agent
		id    string
		want  bool
	}{
		{"plugins are asked about the first", codehook.Cursor, "1", false},
		{"but not about the same call through another agent's hook", codehook.Claude, "1", true},
		{"an id that is used again is another call", codehook.Cursor, "1", false},
		{"so is its double", codehook.Claude, "1", true},
		{"the same agent twice is two calls", codehook.Codex, "2", false},
		{"", codehook.Codex, "2", false},
		{"without an id no event is a double", codehook.Cursor, "", false},
		{"", codehook.Claude, "", false},
	} {
		if got := see(c.agent, c.id); got != c.want {
			t.Errorf("%s (%s %q): %v", c.rule, c.agent, c.id, got)
		}
	}
}

// TestOldSightings: an event is not the double of an old one, even if a model reuses the call's id.
func TestOldSightings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s hostState
		cursor := &codehook.Moment{Agent: codehook.Cursor, Session: "s", CallID: "1"}
		claude := &codehook.Moment{Agent: codehook.Claude, Session: "s", CallID: "1"}
		if s.isDouble(cursor) {
			t.Error("the first event is a double")
		}
		time.Sleep(doubleTime + time.Second)
		if s.isDouble(claude) {
			t.Error("an event is the double of an old one")
		}
		time.Sleep(doubleTime - time.Second)
		if !s.isDouble(cursor) {
			t.Error("an event is not the double of a recent one")
		}
	})
}

// TestUnaskedPluginsOfAProject: if the plugins of a project do not start, an event there is refused
// because of a plugin that must agree only in this project.
func TestUnaskedPluginsOfAProject(t *testing.T) {
	h := newTestHome(t)
	h.write("repo/.git/x", "")
	root := pluginhost.ProjectRoot(filepath.Join(h.home, "repo"))
	c := h.open("")
	c.closed.last = hookclient.Closed{Points: closedOf(c.Host), Projects: map[string]hookclient.ByPoint{root: {hook.ToolBefore: {"linter"}}}}
	for dir, want := range map[string]bool{root: true, h.home: false} {
		r := preToolUse(dir, "s", "p")
		m, err := r.Moment(codehook.Claude)
		if err != nil {
			t.Fatal(err)
		}
		got := c.newHostEvent(m).unasked(dir, errors.New("they do not start"))
		if strings.Contains(got.Answer.Stdout, "linter has to agree") != want {
			t.Errorf("%s: %s", dir, got.Answer.Stdout)
		}
	}
}

// A hookServed is a daemon that a hook has started.
type hookServed struct {
	*Core
	socket string
	end    context.CancelFunc
	ended  chan error
}

// serveHooks starts such a daemon, which reports the given version.
func (h testHome) serveHooks(version string, idle time.Duration) *hookServed {
	h.t.Helper()
	o := h.options()
	o.NoModel = true
	c, err := Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	c.version = version
	ctx, cancel := context.WithCancel(context.Background())
	s := &hookServed{Core: c, end: cancel, ended: make(chan error, 1)}
	ready := make(chan Addresses, 1)
	go func() { s.ended <- c.ServeHooks(ctx, HookOptions{Idle: idle, Ready: func(a Addresses) { ready <- a }}) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-s.ended; err != nil {
			h.t.Errorf("serve hooks: %v", err)
		}
		h.close(c)
	})
	select {
	case at := <-ready:
		s.socket = at.Socket
	case err := <-s.ended:
		s.ended <- err
		h.t.Fatalf("serve hooks: %v", err)
	}
	return s
}

// TestFilesThatChangeBeforeADaemonServes: its first event reads them again.
func TestFilesThatChangeBeforeADaemonServes(t *testing.T) {
	h := newTestHome(t)
	h.script("where", where)
	c := h.open("")
	h.write(".config/patchbay/config.toml", "[plugins.where]\nenabled = false\n")
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- c.ServeHooks(ctx, HookOptions{Ready: func(Addresses) { close(ready) }}) }()
	<-ready
	h.answer(c, hookRequest("UserPromptSubmit", map[string]any{"session_id": "s", "cwd": h.home, "prompt": "hello"}))
	if p := c.Host.Plugins()[0]; p.State != dialect.Disabled {
		t.Errorf("the plugin is %s", p.State)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// over waits until the daemon has ended.
func (s *hookServed) over(t *testing.T) {
	t.Helper()
	select {
	case err := <-s.ended:
		s.ended <- err
	case <-time.After(patience):
		t.Fatal("the daemon does not end")
	}
}

func TestHookDaemons(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "python3")
	ask := func(t *testing.T, h testHome, version string) string {
		t.Helper()
		var out, errs strings.Builder
		data := preToolUse(h.home, "s", "p").Input
		code := hookclient.Run(t.Context(), hookclient.Options{Agent: codehook.Claude, Event: "PreToolUse", In: strings.NewReader(string(data)), Out: &out, Err: &errs,
			Environ: []string{"HOME=" + h.home, "PATH=/nonexistent"}, Dir: h.home, Version: version, Program: "/nonexistent",
			InProcess: func(context.Context, hookclient.Request) (*hookclient.Answer, error) {
				return &hookclient.Answer{Answer: codehook.Answer{Stdout: "in process"}}, nil
			}})
		if code != 0 || errs.String() != "" {
			t.Errorf("exit %d, %s", code, errs.String())
		}
		return out.String()
	}
	t.Run("it ends when no call comes", func(t *testing.T) {
		h := newTestHome(t)
		s := h.serveHooks(pluginhost.Version, 50*time.Millisecond)
		s.over(t)
		if _, err := os.Lstat(s.socket); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("its socket is still there: %v", err)
		}
	})
	t.Run("it yields to another version and to serve, but not to its own version", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/a.py", marker("a"))
		old := h.serveHooks("0.0.9", 0)
		if got := ask(t, h, "0.0.9"); !strings.Contains(got, "echo a") {
			t.Errorf("its own client: %q", got)
		}
		if got := ask(t, h, pluginhost.Version); got != "in process" { // there is no program to start a daemon with
			t.Errorf("a client of another version: %q", got)
		}
		s := h.serveHooks(pluginhost.Version, 0)
		old.over(t)
		if got := ask(t, h, pluginhost.Version); !strings.Contains(got, "echo a") {
			t.Errorf("the daemon that took over: %q", got)
		}
		if _, err := s.claim(t.Context(), s.socket, false); !errors.Is(err, ErrRunning) {
			t.Errorf("a second one of that version: %v", err)
		}
		served := h.serve("", Limits{})
		s.over(t)
		if got := ask(t, h, "9.9.9"); !strings.Contains(got, "echo a") {
			t.Errorf("serve, whatever the version: %q", got)
		}
		if _, err := served.claim(t.Context(), served.socket, true); !errors.Is(err, ErrRunning) {
			t.Errorf("a second serve: %v", err)
		}
	})
	t.Run("it stays if the other daemon does not take the place", func(t *testing.T) {
		h := newTestHome(t)
		s := h.serveHooks(pluginhost.Version, 0)
		if err := s.askToYield(t.Context(), s.socket, true); err != nil {
			t.Fatal(err)
		}
		if err := s.askToYield(t.Context(), s.socket, true); err == nil {
			t.Error("two daemons may take the place")
		}
		if got := s.overSocketHealth(t); !got {
			t.Error("the daemon has ended")
		}
	})
	t.Run("it reads its files again when they have changed", func(t *testing.T) {
		h := newTestHome(t)
		h.write(".agent/plugins/a.py", marker("a"))
		s := h.serveHooks(pluginhost.Version, 0)
		h.write(".config/patchbay/config.toml", "[plugins.a]\non_failure = \"deny\"\n")
		prompt := hookRequest("UserPromptSubmit", map[string]any{"session_id": "s", "cwd": h.home, "prompt": "hello"})
		h.answer(s.Core, prompt)
		if got := s.Host.Closed(hook.ToolBefore); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%v", got)
		}
		h.closedAt(s.Core, map[hook.Point][]string{hook.ToolBefore: {"a"}})
	})
}

func (s *hookServed) overSocketHealth(t *testing.T) bool {
	t.Helper()
	resp, err := socketClient(s.socket, nil).Get("http://patchbay/v1/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode == 200
}

// closedAt waits until the file of closed points has the wanted content.
func (h testHome) closedAt(c *Core, want hookclient.ByPoint) {
	h.t.Helper()
	var got *hookclient.Closed
	var err error
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if got, err = hookclient.ReadClosed(c.Dirs.State); err == nil && reflect.DeepEqual(got.Points, want) {
			return
		}
	}
	h.t.Errorf("closed are %+v, %v; want %v", got, err, want)
}

func TestTheFileOfClosedPoints(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/a.py", marker("a"))
	h.write(".agent/plugins/b.py", marker("b"))
	h.write(".config/patchbay/config.toml", "[plugins.b]\non_failure = \"abort\"\n")
	s := h.serveHooks(pluginhost.Version, 0)
	path := filepath.Join(s.Dirs.State, hookclient.ClosedName)
	h.closedAt(s.Core, hookclient.ByPoint{hook.ToolBefore: {"b"}})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	t.Run("the points of a removed plugin are removed", func(t *testing.T) {
		if err := os.Remove(filepath.Join(h.home, ".agent/plugins/b.py")); err != nil {
			t.Fatal(err)
		}
		if err := s.Host.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.closedAt(s.Core, hookclient.ByPoint{})
	})
	t.Run("the points of a new plugin are added", func(t *testing.T) {
		h.write(".agent/plugins/b.py", marker("b"))
		if err := s.Host.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.closedAt(s.Core, hookclient.ByPoint{hook.ToolBefore: {"b"}})
	})
	t.Run("a project is listed if its points differ", func(t *testing.T) {
		h.write("repo/.git/x", "")
		root := pluginhost.ProjectRoot(filepath.Join(h.home, "repo"))
		h.answer(s.Core, preToolUse(root, "s", "p"))
		s.WriteClosed()
		got, err := hookclient.ReadClosed(s.Dirs.State)
		if err != nil || len(got.Projects) != 0 {
			t.Errorf("nothing is different there: %+v, %v", got, err)
		}
	})
}
