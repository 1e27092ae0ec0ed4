package hookinstall

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
)

// noVariables is an empty environment.
func noVariables(string) string { return "" }

// place returns the file of an agent in an empty home, or of a project.
func place(t *testing.T, agent codehook.Agent, project bool) Place {
	t.Helper()
	dir := t.TempDir()
	root := ""
	if project {
		root = dir
	}
	p, err := Find(agent, dir, root, noVariables)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// self returns a program that exists.
func self(t *testing.T) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "with a blank", "patchbay-hook")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Program{Path: path}
}

func eachPlace(t *testing.T, test func(t *testing.T, p Place)) {
	for _, agent := range codehook.Agents() {
		for _, project := range []bool{false, true} {
			name := string(agent)
			if project {
				name += " in a project"
			}
			t.Run(name, func(t *testing.T) { test(t, place(t, agent, project)) })
		}
	}
}

// TestInstallAndUninstall: each event has one entry, also if the hooks are installed twice.
// Uninstalling leaves nothing.
func TestInstallAndUninstall(t *testing.T) {
	eachPlace(t, func(t *testing.T, p Place) {
		program := self(t)
		dry, err := Install(p, program, true)
		if err != nil || !dry.Changed {
			t.Fatalf("a dry run: %+v, %v", dry, err)
		}
		if _, err := os.Stat(p.Path()); err == nil {
			t.Fatal("a dry run wrote the file")
		}
		if c, err := Install(p, program, false); err != nil || !c.Changed || c.New != dry.New {
			t.Fatalf("%+v, %v", c, err)
		}
		if c, err := Install(p, program, false); err != nil || c.Changed {
			t.Errorf("the second installation: %+v, %v", c, err)
		}
		in, err := Inspect(p)
		if err != nil || len(in.Faults) > 0 {
			t.Fatalf("%+v, %v", in.Faults, err)
		}
		var events []string
		for _, e := range in.Entries {
			events = append(events, e.Event)
			if e.Started[0] != program.Path || !slices.Contains(e.Started, string(p.Agent)) {
				t.Errorf("%s starts %q", e.Event, e.Started)
			}
		}
		var want []string
		for _, s := range codehook.Events(p.Agent) {
			want = append(want, s.Name)
		}
		slices.Sort(want)
		if !slices.Equal(events, want) {
			t.Errorf("entries for %q, wanted %q", events, want)
		}
		if c, err := Uninstall(p, false); err != nil || !c.Removed {
			t.Errorf("uninstalling: %+v, %v", c, err)
		}
		if left, err := os.ReadDir(filepath.Dir(p.Path())); err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return !strings.HasSuffix(e.Name(), ".lock") }) {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if c, err := Uninstall(p, false); err != nil || c.Changed {
			t.Errorf("uninstalling again: %+v, %v", c, err)
		}
	})
}

// TestUninstallMakesNothing: where nothing is installed, no directory of the agent is made.
func TestUninstallMakesNothing(t *testing.T) {
	for _, agent := range codehook.Agents() {
		p := place(t, agent, false)
		if c, err := Uninstall(p, false); err != nil || c.Changed {
			t.Errorf("%s: %+v, %v", agent, c, err)
		}
		if _, err := os.Stat(p.Dir); !os.IsNotExist(err) {
			if made, err := os.ReadDir(p.Dir); err != nil || len(made) > 0 {
				t.Errorf("%s: made %v, %v", agent, made, err)
			}
		}
	}
}

// TestOthersStay: an installation keeps the hooks, comments and unusual spaces of a user's file.
// After uninstalling, the file is as it was, byte for byte.
func TestOthersStay(t *testing.T) {
	for agent := range recipes {
		if agent == codehook.Copilot {
			continue // its file has only our entries
		}
		event := codehook.Events(agent)[0].Name
		text := "{\n\t// mine\n\t\"theme\":   \"dark\",\n\t\"version\": 1,\n\t\"hooks\": {\n\t\t\"" + event + "\": [\n\t\t\t{ \"hooks\": [ {\"type\":\"command\", \"command\":\"./own.sh\"} ] }\n\t\t]\n\t},\n\t\"last\": [1,2]\n}\n"
		p := place(t, agent, true)
		if err := os.MkdirAll(filepath.Dir(p.Path()), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.Path(), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		c, err := Install(p, self(t), false)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := os.ReadFile(c.Backup); err != nil || string(kept) != text {
			t.Errorf("%s: the backup has %q, %v", agent, kept, err)
		}
		for _, piece := range []string{"// mine", "\"theme\":   \"dark\"", "{ \"hooks\": [ {\"type\":\"command\", \"command\":\"./own.sh\"} ] }", "\"last\": [1,2]"} {
			if !strings.Contains(c.New, piece) {
				t.Errorf("%s: %q is gone:\n%s", agent, piece, c.New)
			}
		}
		if _, err := Uninstall(p, false); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(p.Path())
		if err != nil || string(got) != text {
			t.Errorf("%s: after uninstalling, the file is\n%s\nnot\n%s (%v)", agent, got, text, err)
		}
	}
}

// TestUninstallLeavesNoTrace: after install and uninstall, a file is the same, byte for byte,
// whatever its layout was. If the user has changed it in between, the comments stay.
func TestUninstallLeavesNoTrace(t *testing.T) {
	for _, agent := range []codehook.Agent{codehook.Claude, codehook.Cursor} { // without and with a version in the file
		event := codehook.Events(agent)[0].Name
		for _, text := range []string{
			"", " \n", "{}", "{\n}\n", "{\"hooks\": {}, \"b\": \"\\u00e9\"}", "{\"hooks\": {\"" + event + "\": [ ]}}",
			"{\n  \"hooks\": {\n    // nothing yet\n  }\n}\n", "{\"hooks\": {\"" + event + "\": [\n  // nothing yet\n]}}",
			"// mine\n{\n  \"a\": 1, /* one */\n  \"hooks\": { // hooks\n    \"" + event + "\": [{\"x\": 1}], // last\n  }, // all\n}\n// end\n",
			"{\r\n\t\"a\": 1 // one\r\n}", "\ufeff{\"a\": 1e5 , }",
		} {
			p := place(t, agent, false)
			write(t, p, text)
			install := func() {
				t.Helper()
				if c, err := Install(p, self(t), false); err != nil || !c.Changed {
					t.Fatalf("%s: %q: %+v, %v", agent, text, c, err)
				}
			}
			uninstalled := func() string {
				t.Helper()
				if _, err := Uninstall(p, false); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(p.Path())
				if err != nil {
					t.Errorf("%s: %q: %v", agent, text, err)
				}
				return string(got)
			}
			install()
			if got := uninstalled(); got != text {
				t.Errorf("%s: %q became %q", agent, text, got)
			}
			install()
			write(t, p, strings.Replace(read(t, p), "{", "{ /* new */", 1))
			left := uninstalled()
			for _, comment := range []string{"/* new */", "// mine", "/* one */", "// hooks", "// last", "// all", "// one", "// end", "// nothing yet"} {
				if (comment == "/* new */" || strings.Contains(text, comment)) && !strings.Contains(left, comment) {
					t.Errorf("%s: %q became %q without %s", agent, text, left, comment)
				}
			}
		}
	}
}

// TestOlderEntries: Patchbay's entries that start its program at an older path are replaced.
// Double entries, and entries for events that are no longer used, are removed.
func TestOlderEntries(t *testing.T) {
	p := place(t, codehook.Claude, false)
	write(t, p, `{"hooks": {
  "PreToolUse": [
    {"hooks": [{"type": "command", "command": "/gone/patchbay hook claude --event PreToolUse", "timeout": 5}]},
    {"hooks": [{"type": "command", "command": "/gone/patchbay-hook claude"}]}
  ],
  "SomethingOld": [{"hooks": [{"type": "command", "command": "/gone/patchbay-hook claude --event SomethingOld"}]}]
}}`)
	in, err := Inspect(p)
	if err != nil || len(in.Faults) < 2 {
		t.Errorf("before: %+v, %v", in.Faults, err)
	}
	if _, err := Install(p, self(t), false); err != nil {
		t.Fatal(err)
	}
	if in, err = Inspect(p); err != nil || len(in.Faults) > 0 || slices.ContainsFunc(in.Entries, func(e Entry) bool { return e.Event == "SomethingOld" || strings.HasPrefix(e.Started[0], "/gone") }) {
		t.Errorf("after: %+v, %v", in, err)
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		agent      codehook.Agent
		text, want string
	}{
		{codehook.Claude, `{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}, {"command": "/a/patchbay-hook claude --event PreToolUse"}]}]}}`, "beside another one"},
		{codehook.Claude, `{"hooks": {"PreToolUse": {}}}`, "is not a list"},
		{codehook.Claude, `{"hooks": `, "line 1"},
		{codehook.Claude, `[]`, "not a JSON object"},
		{codehook.Cursor, `{"version": 2}`, "version 2"},
		{codehook.OpenCode, `export const Mine = 1`, "not written by Patchbay"},
	} {
		p := place(t, tc.agent, false)
		write(t, p, tc.text)
		if _, err := Install(p, self(t), false); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, wanted %q", tc.text, err, tc.want)
		}
		if got, err := os.ReadFile(p.Path()); err != nil || string(got) != tc.text {
			t.Errorf("the file was changed to %q, %v", got, err)
		}
	}
}

func write(t *testing.T, p Place, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.Path()), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, p Place) string {
	t.Helper()
	text, err := os.ReadFile(p.Path())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFind(t *testing.T) {
	p, err := Find(codehook.Codex, "/home/x", "", func(name string) string { return map[string]string{"CODEX_HOME": "/elsewhere"}[name] })
	if err != nil || p.Path() != "/elsewhere/hooks.json" {
		t.Errorf("%s, %v", p.Path(), err)
	}
	if _, err := Find("nobody", "/home/x", "", noVariables); err == nil {
		t.Error("an unknown agent is accepted")
	}
	if _, err := Find(codehook.Claude, "", "", noVariables); err == nil {
		t.Error("without a home")
	}
	// Some users link such files to another directory.
	home, kept := t.TempDir(), filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(kept, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, filepath.Join(home, ".claude", "settings.json")); err != nil {
		t.Skip("no links here:", err)
	}
	if p, err = Find(codehook.Claude, home, "", noVariables); err != nil || p.Path() != kept {
		t.Errorf("%s, %v", p.Path(), err)
	}
}

// TestApprovals: the hash equals the one that Codex computes for this entry.
func TestApprovals(t *testing.T) {
	p := Place{Agent: codehook.Codex, Dir: "/x", Name: "hooks.json"}
	got, err := Approvals(p, []byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"own"}]},
		{"hooks":[{"type":"command","command":"/usr/bin/patchbay-hook codex --event PreToolUse","timeout":60}]}]}}`))
	want := Approval{"PreToolUse", "/x/hooks.json:pre_tool_use:1:0", "sha256:81ff10d6505ea223243679969869c742022249d2deb84d3d3ac8ca7352e6c34b"}
	if err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTrust(t *testing.T) {
	p := place(t, codehook.Codex, false)
	write(t, Place{Dir: p.Dir, Name: ".codex/config.toml"}, "model = \"x\" # mine\n")
	approvals := []Approval{{"PreToolUse", "/a b/hooks.json:pre_tool_use:0:0", "sha256:1"}, {"Stop", "/a b/hooks.json:stop:0:0", "sha256:2"}}
	_, err := Trust(p, approvals)
	if err != nil {
		t.Fatal(err)
	}
	config := Place{Dir: p.Dir, Name: ".codex/config.toml"}
	if text := read(t, config); !strings.Contains(text, "model = \"x\" # mine\n") || !strings.Contains(text, `"/a b/hooks.json:stop:0:0"`) {
		t.Error(text)
	}
	if c, err := Untrust(p, approvals, true); err != nil || !c.Changed || read(t, config) == c.New {
		t.Errorf("dry: %+v, %v", c, err)
	}
	write(t, config, read(t, config)+"enabled = true\n[more]\n") // in the table of the last approval
	for _, want := range []string{"model = \"x\" # mine\n\n[hooks.state.\"/a b/hooks.json:stop:0:0\"]\nenabled = true\n[more]\n", ""} {
		if c, err := Untrust(p, approvals, false); err != nil || c.Changed != (want != "") || want != "" && c.New != want {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestUntrustLeavesNoTrace: Untrust gives Codex's configuration its old text back, if only Trust
// has changed it. A file that Trust has made is removed.
func TestUntrustLeavesNoTrace(t *testing.T) {
	p := place(t, codehook.Codex, false)
	config := Place{Dir: p.Dir, Name: ".codex/config.toml"}
	if c, err := Untrust(p, []Approval{{"Stop", "k", "h"}}, false); err != nil || c.Changed {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := Trust(p, []Approval{{"Stop", "k", "h"}}); err != nil {
		t.Fatal(err)
	}
	if c, err := Untrust(p, []Approval{{"Stop", "k", "h"}}, false); err != nil || !c.Removed {
		t.Errorf("%+v, %v", c, err)
	}
	const text = "[hooks.state]\n# mine\n\n[x]\ny = 1 # c"
	write(t, config, text)
	if _, err := Trust(p, []Approval{{"Stop", "k", "h"}}); err != nil {
		t.Fatal(err)
	}
	if c, err := Untrust(p, []Approval{{"Stop", "k", "h"}}, false); err != nil || read(t, config) != text {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestDoubles: two installations that would send the same event are reported.
func TestDoubles(t *testing.T) {
	dir := t.TempDir()
	program := self(t)
	var all []Installed
	for _, root := range []string{"", filepath.Join(dir, "project")} {
		for _, agent := range []codehook.Agent{codehook.Claude, codehook.Gemini} {
			p, err := Find(agent, dir, root, noVariables)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Install(p, program, false); err != nil {
				t.Fatal(err)
			}
			in, err := Inspect(p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, in)
		}
	}
	faults := Doubles(all)
	if len(faults) != 1 || !strings.Contains(faults[0].Problem, "for gemini are installed") {
		t.Errorf("%+v", faults) // Claude Code runs the same line once
	}
}

// TestHomeIsAProject: if the home is the project, its file is one installation.
func TestHomeIsAProject(t *testing.T) {
	p := place(t, codehook.Claude, false)
	if _, err := Install(p, self(t), false); err != nil {
		t.Fatal(err)
	}
	if all, errs := All(p.Dir, p.Dir, noVariables); len(all) != 1 || len(errs) > 0 {
		t.Errorf("%+v, %v", all, errs)
	}
}

func TestWords(t *testing.T) {
	for _, path := range []string{"/a/b", "/a b/c", "/it's/x", "/ä/$HOME", `/a\b`} {
		p := Program{Path: path, Args: []string{"hook"}}
		got := words(p.line(codehook.Claude, "Stop"))
		if want := append([]string{path}, p.args(codehook.Claude, "Stop")...); !slices.Equal(got, want) {
			t.Errorf("%q became %q", want, got)
		}
	}
}
