package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// TestLinesBreakAtWords: on a terminal of 80 columns, the texts of these commands are broken at
// words. A program gets them unbroken.
func TestLinesBreakAtWords(t *testing.T) {
	long := "begin " + strings.Repeat("word ", 40) + "end"
	for name, print := range map[string]func(*app) error{
		"plugin validate": func(a *app) error {
			problem := []problemJSON{{Path: "/plugins/x", Line: 3, Column: 7, Message: long, Fix: long}}
			return a.printValidation(&validation{Errors: problem, Warnings: problem}, nil)
		},
		"fire": func(a *app) error {
			return a.printOutcome(&hook.Outcome{Point: hook.TurnInput, Verdict: hook.Deny, By: "guard", Reason: long, Suggest: long,
				Steps: []hook.Step{{Plugin: "guard", Verdict: hook.Deny}}, Payload: json.RawMessage("{}")}, nil, false)
		},
		"fire --trace": func(a *app) error {
			return a.printOutcome(&hook.Outcome{Point: hook.TurnInput, Verdict: hook.Continue,
				Steps: []hook.Step{{Plugin: strings.Repeat("p", 60), Dialect: "scaffold", Hook: strings.Repeat("h", 60), Notes: []string{long}},
					{Plugin: "slow", Err: hook.Failure(hook.Crash, errors.New(long))}}, Payload: json.RawMessage("{}")}, nil, true)
		},
		"fire without a plugin": func(a *app) error {
			return a.printOutcome(&hook.Outcome{Point: hook.TurnInput, Verdict: hook.Continue, Payload: json.RawMessage("{}")}, []string{long}, false)
		},
		"session show": func(a *app) error {
			c := &storedConversation{Summary: session.Summary{Session: session.Session{ID: "ses_1", Title: long}}}
			for _, m := range []model.Message{{Role: model.User, Content: long}, {Role: model.Assistant, Content: long},
				{Role: model.Assistant, ToolCalls: []model.ToolCall{{Name: "shell", Arguments: json.RawMessage(`{"cmd":"` + long + `"}`)}}},
				{Role: model.ToolRole, Name: "shell", Content: long}, {Role: model.System, Content: long}} {
				c.Transcript = append(c.Transcript, session.Entry{Message: &m})
			}
			a.showConversation(c)
			return nil
		},
		"plugin logs": func(a *app) error {
			a.printLogLine(pluginlog.Line{Level: "warning", Text: long})
			return nil
		},
		"job logs": func(a *app) error { return a.logLine(job.Line{Attempt: 1, Stream: "stderr", Text: long}, false) },
		"project status": func(a *app) error {
			a.printProject(&projectView{Root: "/site", Reason: long, Fix: long, Plugins: []projectPlugin{{Name: "p", Error: long}}})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, width := range []int{0, 80} {
				c := newConsole(t, "NO_COLOR=1")
				c.Width, c.OutTTY = width, width > 0
				a := &app{IO: c.IO, out: &output{w: &c.out}}
				if err := print(a); err != nil {
					t.Fatal(err)
				}
				widest := 0
				for line := range strings.Lines(c.out.String()) {
					widest = max(widest, ansi.StringWidth(strings.TrimRight(line, "\n")))
				}
				if whole := strings.Contains(c.out.String(), "begin word "); !whole || width == 80 && widest > 80 || width == 0 && widest < len(long) {
					t.Errorf("in %d columns the widest line has %d:\n%s", width, widest, c.out.String())
				}
				if words := strings.Fields(strings.NewReplacer("│", "", `"}`, "").Replace(c.out.String())); width == 80 && strings.Count(strings.Join(words, " "), "word ")%40 != 0 {
					t.Errorf("a word is broken or lost:\n%s", c.out.String())
				}
			}
		})
	}
}

// TestHomeIsATilde: people read paths in their home with ~.
func TestHomeIsATilde(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1", "HOME=/home/ada")
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	a.showConversation(&storedConversation{Summary: session.Summary{Session: session.Session{ID: "ses_1", WorkingDir: "/home/ada/shop", CreatedAt: time.Now()}}})
	a.printProject(&projectView{Root: "/home/ada/shop", Plugins: []projectPlugin{}})
	a.printf("%s\n", a.noSessions(session.Query{WorkingDir: "/home/ada/shop"}))
	a.printPluginHead(&pluginhost.PluginDetail{PluginInfo: pluginhost.PluginInfo{Path: "/home/ada/shop/p", Project: "/home/ada/shop"}}, nil)
	if got := c.out.String(); strings.Count(got, "~/shop") != 5 || strings.Contains(got, "/home/ada") {
		t.Error(got)
	}
}

// TestALinkedHomeIsATilde: the working directory of a session has no links in it, and HOME may have
// some.
func TestALinkedHomeIsATilde(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Skip("no links here: ", err)
	}
	for path, want := range map[string]string{
		filepath.Join(home, "shop"): "~/shop", home: "~", filepath.Join(link, "shop"): "~/shop", home + "r/shop": home + "r/shop",
	} {
		if got := filepath.ToSlash(fromHome(path, link+"/")); got != filepath.ToSlash(want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := fromHome("/srv/shop", "/"); got != "/srv/shop" {
		t.Errorf("with / as the home: %s", got)
	}
}

// TestPathsStayWhole: a narrow terminal shows the columns beside a long path below it.
func TestPathsStayWhole(t *testing.T) {
	home := t.TempDir()
	long := filepath.Join(home, strings.Repeat("projects-of-ada/", 2))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	for width, want := range map[int]string{80: "not there, moved by --dir", 0: "no     --dir"} {
		c := newConsole(t, "NO_COLOR=1", "HOME="+home)
		c.Width, c.OutTTY, c.Dir = width, width > 0, long
		a := &app{IO: c.IO, out: &output{w: &c.out}}
		if err := a.runConfigPath(); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(c.out.String(), want) || !strings.Contains(c.out.String(), filepath.Join(".patchbay", "config.toml")) {
			t.Errorf("%d columns:\n%s", width, c.out.String())
		}
		for line := range strings.Lines(c.out.String()) {
			if w := ansi.StringWidth(strings.TrimRight(line, "\n")); width > 0 && w >= width {
				t.Errorf("a line has %d columns: %s", w, line)
			}
		}
	}
}
