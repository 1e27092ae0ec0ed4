package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// document returns the text of a protocol document, by its number in the folder that
// $PATCHBAY_SEEDS names. Without the variable the test is skipped.
func document(t testing.TB, number string) string {
	t.Helper()
	dir := os.Getenv("PATCHBAY_SEEDS")
	if dir == "" {
		t.Skip("PATCHBAY_SEEDS is not set: it names the folder of the protocol documents, whose example plugins this test uses")
	}
	paths, err := filepath.Glob(filepath.Join(dir, number+"_*.txt"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("want one file %s_*.txt in %s, found %d (%v)", number, dir, len(paths), err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// programs returns the fenced blocks of a document that accept accepts. The keys are the headings
// above them, in the form of file names.
func programs(text string, accept func(block string) bool) map[string]string {
	found := make(map[string]string)
	heading, block, fenced := "", "", false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			if fenced = !fenced; !fenced && accept(block) {
				found[heading] = block
			}
			block = ""
		case fenced:
			block += line
		case strings.HasPrefix(line, "#"):
			name := strings.TrimSpace(strings.TrimLeft(line, "#"))
			name = strings.TrimSpace(name[strings.Index(name, ":")+1:])
			heading = strings.ToLower(strings.ReplaceAll(name, " ", "-"))
		}
	}
	return found
}

// indentation is the depth of each line of the Python program in the mine document, which is
// printed without its indentation.
const indentation = "000011112332211121122101"

// manifest is the manifest of the transform plugin.
const manifest = `[plugin]
name = "tags"
version = "1.0.0"
description = "Tags what has no tags"
author = "Ada"
protocol_version = "1.0.0"

[[hooks]]
command = "todo.*"
stage = "preexec"
mode = "transform"
`

// transform returns the transform plugin of the mine document.
func transform(t testing.TB) string {
	t.Helper()
	const first, last = "#!/usr/bin/env python3\n", "\nmain()\n"
	_, rest, _ := strings.Cut(document(t, "001"), first)
	body, _, ok := strings.Cut(rest, last)
	lines := strings.Split(first+body+strings.TrimSuffix(last, "\n"), "\n")
	if !ok || len(lines) != len(indentation) {
		t.Fatalf("the program has %d lines", len(lines))
	}
	for i, depth := range indentation {
		lines[i] = strings.Repeat("    ", int(depth-'0')) + lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

// asPrinted adds the example plugins of the protocol documents to a home. The documents of dotagent
// and kaged contain no whole plugin.
func asPrinted(t testing.TB) func(home string) {
	scaffold := programs(document(t, "003"), func(block string) bool { return strings.HasPrefix(block, "#!") })
	python := programs(document(t, "004"), func(block string) bool { return strings.Contains(block, "\nasync def ") })
	tags := transform(t)
	if len(scaffold) != 4 {
		t.Fatalf("%d plugins in the scaffold document", len(scaffold))
	}
	return func(home string) {
		files := map[string]string{
			".local/share/mine/plugins/tags/mine-plugin-tags": tags,
			".local/share/mine/plugins/tags/mine-plugin.toml": manifest,
		}
		for name, text := range scaffold {
			files[".local/scaffold/plugins/"+name] = text
		}
		for heading, name := range map[string]string{"response-footer-plugin": "footer", "logger-plugin": "logger", "tool-mocker-plugin": "mocker", "shell-blocker-plugin": "shell_blocker"} {
			text, ok := python[heading]
			if !ok {
				t.Fatalf("no %s in the python document", heading)
			}
			files[".agent/plugins/"+name+".py"] = text
		}
		for name, text := range files {
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The example plugins of the protocol documents work unchanged: their tools answer, their changes
// are in the trace, and one of them says why it does not load.
func TestPluginsOfTheDocuments(t *testing.T) {
	s := newSite(t, asPrinted(t))
	p := newTab(t, s, "/plugins")
	for _, name := range []string{"system-info", "audit-logger", "git-context", "my-plugin", "tags", "footer", "logger", "shell_blocker"} {
		p.until(name+" to be ready", `document.querySelector('[data-plugin="`+name+`"] [data-state=ready]')`)
	}
	p.until("the one that does not load to come first", `(`+rows+`).startsWith('mocker')`)
	p.picture("plugins-of-documents")
	p.checkAxe()

	p.open("/try/tool/plugin_system-info_uptime")
	p.click("=Call")
	p.seeIn("[data-answer]", "up")
	p.seeIn("[data-step=system-info]", "uptime")

	p.open("/try/point/command.before")
	p.write("Payload", `{"command": "todo.add", "args": ["buy milk"], "flags": {}}`)
	p.click("=Send")
	p.seeIn("[data-step=tags]", "auto-tagged")

	session := s.begin("footer", "logger", "shell_blocker")
	s.say(session, "hello")
	p.open("/trace?tab=events&plugin=footer&point=turn.final")
	p.click("[data-event] a")
	p.seeIn("[data-step=footer]", "Session: "+session)

	p.open("/python/mocker")
	p.see("SyntaxError")
}
