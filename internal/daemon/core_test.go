package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/entry"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/journal"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/session"
)

func TestMain(m *testing.M) {
	plugtest.PlayMCP()                             // if this process is an MCP server
	if path := os.Getenv(dialerPath); path != "" { // if this process only connects to a socket
		dialAsOther(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// A testHome is a home directory with the files that a test puts there.
type testHome struct {
	t    *testing.T
	home string
}

func newTestHome(t *testing.T) testHome { return testHome{t, t.TempDir()} }

func (h testHome) write(path, text string) string {
	h.t.Helper()
	path = filepath.Join(h.home, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h testHome) options() Options {
	return Options{Host: pluginhost.Options{Dir: h.home, Logger: slog.New(slog.DiscardHandler),
		Environ: []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH")}}}
}

// open opens a core, with a script for the model if there is one.
func (h testHome) open(script string) *Core {
	h.t.Helper()
	o := h.options()
	if script != "" {
		o.Script = h.write("script.yaml", script)
	}
	c, err := Open(h.t.Context(), o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.close(c) })
	return c
}

func (h testHome) close(c *Core) {
	h.t.Helper()
	if err := c.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h testHome) session(c *Core, plugins ...string) string {
	h.t.Helper()
	s, err := c.Sessions.Create(h.t.Context(), session.Session{WorkingDir: h.home, Plugins: plugins})
	if err != nil {
		h.t.Fatal(err)
	}
	return s.ID
}

// say sends a message as the routes do.
func (h testHome) say(c *Core, id, text string) *chat.Result {
	h.t.Helper()
	raw, err := turns{c}.Run(h.t.Context(), id, text, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	var r chat.Result
	if err := json.Unmarshal(raw, &r); err != nil {
		h.t.Fatal(err)
	}
	return &r
}

// stamp returns the code of a Python plugin that adds its name to the answer.
func stamp(name string) string {
	return `__plugin__ = {"api": "1.0", "name": "` + name + `"}
@on_final
async def add(ctx, text):
    return text + " ` + name + `"
`
}

func TestPluginsOfASession(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	h.write(".agent/plugins/a.py", stamp("a"))
	h.write(".agent/plugins/b.py", stamp("b"))
	c := h.open("[{text: hi}, {text: hi}, {text: hi}, {text: hi}]")
	id := h.session(c, "b", "a")
	if got := h.say(c, id, "1").Text; got != "hi" {
		t.Errorf("with the flag off, no python plugin takes part: %q", got)
	}
	if _, err := c.Features.Set(t.Context(), feature.Plugins, true); err != nil {
		t.Fatal(err)
	}
	if got := h.say(c, id, "2").Text; got != "hi b a" {
		t.Errorf("with the flag on, the plugins of the session take part, in its order: %q", got)
	}
	if got := h.say(c, h.session(c), "3").Text; got != "hi" {
		t.Errorf("a session without plugins has none: %q", got)
	}
	r, err := c.Turn(t.Context(), TurnRequest{Session: id, Text: "4"})
	if err != nil || r.Text != "hi a b" {
		t.Errorf("at a terminal, all plugins take part: %+v, %v", r, err)
	}
}

func TestApprovalOverHTTP(t *testing.T) {
	const script = `[{tools: [{name: write_file, arguments: {path: made, content: x}}]}, {text: done}]`
	for _, c := range []struct {
		rule, config string
		written      bool
	}{
		{"an HTTP session does not ask", "", true},
		{"with approve = ask every call is refused", "[chat]\napprove = \"ask\"\n", false},
		{"with approve = deny every call is refused", "[chat]\napprove = \"deny\"\n", false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := newTestHome(t)
			h.write(".config/patchbay/config.toml", c.config)
			core := h.open(script)
			r := h.say(core, h.session(core), "write it")
			_, err := os.Stat(filepath.Join(h.home, "made"))
			if written := err == nil; written != c.written || len(r.Tools) != 1 || r.Tools[0].Success != c.written {
				t.Errorf("written %t, want %t: %+v", written, c.written, r.Tools)
			}
		})
	}
}

func TestSessionsSurviveARestart(t *testing.T) {
	h := newTestHome(t)
	first := h.open("")
	id := h.session(first)
	h.say(first, id, "remember the milk")
	h.close(first)
	second := h.open("")
	messages, err := second.Sessions.Messages(t.Context(), id)
	if err != nil || len(messages) != 2 || messages[0].Content != "remember the milk" {
		t.Errorf("%+v, %v", messages, err)
	}
	s, err := second.Sessions.Get(t.Context(), id)
	if err != nil || s.Title != "remember the milk" {
		t.Errorf("%+v, %v", s, err)
	}
}

// slow is a script whose answer takes longer than any test.
const slow = `[{text: a b c d e f g h i j k l m n o p q r s t u v w x y z, delay: 5s}]`

// begin starts a turn, and returns after the first event of the turn.
func (h testHome) begin(c *Core, id string) (ended <-chan *chat.Result) {
	h.t.Helper()
	began, over := make(chan struct{}), make(chan *chat.Result, 1)
	go func() {
		once := false
		r, err := c.Turn(context.Background(), TurnRequest{Session: id, Text: "go", Observe: func(e chat.Event) {
			if e.Type == chat.Point || e.Type == chat.TextDelta || e.Type == chat.TurnStarted {
				if !once {
					once = true
					close(began)
				}
			}
		}})
		if err == nil || r == nil {
			h.t.Errorf("a turn that should be interrupted: %+v, %v", r, err)
		}
		over <- r
	}()
	select {
	case <-began:
	case <-time.After(time.Minute):
		h.t.Fatal("the turn did not begin")
	}
	return over
}

func TestInterrupt(t *testing.T) {
	h := newTestHome(t)
	c := h.open(slow)
	id := h.session(c)
	over := h.begin(c, id)
	if _, err := c.Turn(t.Context(), TurnRequest{Session: id, Text: "me too"}); !isBusy(err) {
		t.Errorf("a second turn of the session: %v", err)
	}
	found, err := turns{c}.Interrupt(t.Context(), id)
	if err != nil || !found {
		t.Errorf("%t, %v", found, err)
	}
	if r := <-over; r.Status != session.Interrupted {
		t.Errorf("%+v", r)
	}
	if found, err := (turns{c}).Interrupt(t.Context(), id); err != nil || found {
		t.Errorf("interrupted after the turn has ended: %t, %v", found, err)
	}
}

func isBusy(err error) bool {
	var busy *session.BusyError
	return errors.As(err, &busy)
}

func TestCloseKeepsATurnAsInterrupted(t *testing.T) {
	h := newTestHome(t)
	c := h.open(slow)
	id := h.session(c)
	over := h.begin(c, id)
	h.close(c)
	if r := <-over; r.Status != session.Interrupted {
		t.Errorf("%+v", r)
	}
	entries, err := h.open("").Sessions.Transcript(t.Context(), id)
	if err != nil || len(entries) == 0 || entries[len(entries)-1].Status != session.Interrupted {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, err := c.Turn(t.Context(), TurnRequest{Session: id, Text: "again"}); !errors.Is(err, errStopping) {
		t.Errorf("a turn after the end: %v", err)
	}
}

func TestJournal(t *testing.T) {
	h := newTestHome(t)
	c := h.open(`[{tools: [{name: list_files, arguments: {}}]}, {text: hello}]`)
	id := h.session(c)
	h.say(c, id, "hi")
	h.close(c) // writes all queued events
	c = h.open("")
	kept, err := c.Journal.Read(t.Context(), 0, journal.Filter{Session: id}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, e := range kept {
		kinds = append(kinds, e.Kind)
	}
	for _, kind := range []chat.EventType{chat.TurnStarted, chat.ToolFinished, chat.ModelReplied, chat.TurnFinished} {
		if !slices.Contains(kinds, string(kind)) {
			t.Errorf("no %s in the journal: %v", kind, kinds)
		}
	}
	if slices.Contains(kinds, string(chat.TextDelta)) {
		t.Errorf("pieces of text are stored: %v", kinds)
	}
	if err := (sessions{c}).Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if kept, err := c.Journal.Read(t.Context(), 0, journal.Filter{Session: id}, 0); err != nil || len(kept) != 0 {
		t.Errorf("a deleted session's events: %d, %v", len(kept), err)
	}
}

func TestDraftsArePlugins(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	c := h.open("")
	for _, d := range []Draft{
		{Name: "mine", Description: `says "hello" \ and more`},
		{Name: "all", Hooks: []string{"on_begin", "on_tool_call", "on_resolve_tool", "on_tool_result", "on_final", "on_done"}},
	} {
		content, err := c.DraftPlugin(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		s, err := pythonfile.Of(c.Host).Check(t.Context(), d.Name, content)
		if err != nil || s.Name != d.Name || d.Hooks != nil && !slices.Equal(s.Hooks, d.Hooks) {
			t.Errorf("%s\n%+v, %v", content, s, err)
		}
	}
}

func TestCodeOf(t *testing.T) {
	for text, want := range map[string]string{
		"Here:\n```python\nx = 1\n```\nand\n```\ny = 22\n```": "y = 22\n",
		"x = 1": "x = 1\n",
	} {
		if got, err := codeOf(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	if _, err := codeOf(" \n"); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("no code: %v", err)
	}
}

func TestStorageHasItsQuota(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	notes, other := c.storage()("notes", dialect.StorageQuota{Bytes: 1 << 10, Keys: 1}), c.storage()("other", dialect.StorageQuota{})
	for _, s := range []dialect.Storage{notes, other} {
		if err := s.Put(t.Context(), "a", json.RawMessage("1")); err != nil {
			t.Fatal(err)
		}
	}
	if err := notes.Put(t.Context(), "b", json.RawMessage("1")); !errors.Is(err, entry.ErrFull) {
		t.Errorf("a second key: %v", err)
	}
	if err := notes.Put(t.Context(), "a", json.RawMessage(`"`+strings.Repeat("x", 1024)+`"`)); !errors.Is(err, entry.ErrFull) {
		t.Errorf("a larger value: %v", err)
	}
	if err := other.Put(t.Context(), "b", json.RawMessage("1")); err != nil {
		t.Errorf("a plugin without such limits: %v", err)
	}
}
