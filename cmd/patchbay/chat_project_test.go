//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// siteScaffold is a plugin that makes a file when it runs.
const siteScaffold = `#!/bin/bash
touch "$HOME/ran"
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  result='{}'
  [[ $line == *initialize* ]] && result='{"name":"shout","hooks":["post_tool_execute"],"tools":[]}'
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// TestChatAsksAboutAProject: chat asks once about a project's plugins, with a list of their files,
// and again when they have changed. The banner names what comes from the project; its prompts are
// commands.
func TestChatAsksAboutAProject(t *testing.T) {
	home := t.TempDir()
	site := filepath.Join(home, "site")
	for name, text := range map[string]string{".git/HEAD": "", "AGENTS.md": "Use tabs.", ".patchbay/prompts/review.md": "Look at $ARGUMENTS closely.",
		".patchbay/plugins/shout": siteScaffold, ".patchbay/config.toml": "[plugins.notes]\nconfig = { shown = 5 }\n"} {
		write(t, site, name, text)
	}
	shout := filepath.Join(site, ".patchbay", "plugins", "shout")
	if err := os.Chmod(shout, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("patchbay")
	if err != nil {
		t.Fatal(err)
	}
	open := func() *terminal {
		cmd := patchbayIn(home, "chat")
		cmd.Path, cmd.Dir = path, site
		return openTerminal(t, cmd)
	}
	ran := func() bool { _, err := os.Stat(filepath.Join(home, "ran")); return err == nil }

	term := open()
	term.shows("has 1 plugin:", "shout scaffold", "may do everything that you may", "+ .patchbay/plugins/shout", "[y/N]")
	term.keys("n", "Enter")
	term.shows("you are not asked again unless they change", "If you change your mind: patchbay project trust", "from the project: AGENTS.md, 1 prompt, config of notes", "you said no to them")
	term.keys("/rev")
	term.shows("/review", "Look at $ARGUMENTS closely.")
	term.keys("iew main.go", "Enter")
	term.shows("You said: Look at main.go closely.")
	term.keys("/help", "Enter")
	term.shows("this project's prompts")
	term.keys("C-d")
	term.ended()
	if ran() {
		t.Fatal("the plugin ran")
	}

	term = open()
	screen := term.shows("from the project: AGENTS.md, 1 prompt", "you said no to them")
	if strings.Contains(screen, "[y/N]") || strings.Contains(screen, "! the project's plugins") {
		t.Errorf("asked or warned again:\n%s", screen)
	}
	term.keys("C-d")
	term.ended()

	write(t, site, ".patchbay/plugins/shout", siteScaffold+"# new\n")
	term = open()
	term.shows("[y/N]")
	term.keys("y", "Enter")
	term.shows("from the project: AGENTS.md, 1 prompt, config of notes, 1 plugin")
	term.keys("C-d")
	term.ended()
	if !ran() {
		t.Error("the plugin did not run")
	}
}
