package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// TestAnAnswerIsWaitedFor: on a terminal, `chat -p` says what it waits for. That line is removed
// before the answer.
func TestAnAnswerIsWaitedFor(t *testing.T) {
	t.Parallel() // it waits
	home := t.TempDir()
	write(t, home, "talk.yaml", "- {text: first second, delay: 6s}\n") // the line comes after a second, even on a busy machine well before the answer
	_, s, end := atTerminal(t, patchbayIn(home, "chat", "-p", "hello", "--script", "talk.yaml"))
	await(t, func() bool { return strings.Contains(s.String(), "thinking") })
	if code := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s)
	}
	await(t, func() bool { return strings.Contains(s.String(), "second") })
	if text := s.String(); strings.LastIndex(text, "thinking") > strings.LastIndex(text, "\r\x1b[K") || strings.Index(text, "first") < strings.LastIndex(text, "\r\x1b[K") {
		t.Errorf("the line is still there: %q", text)
	}
}

// TestAPluginThatDoesNotAnswerIsNamed: on a terminal, `chat -p` names the plugin that it waits for.
func TestAPluginThatDoesNotAnswerIsNamed(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	home := t.TempDir()
	write(t, home, ".local/scaffold/plugins/guard", `#!/usr/bin/env bash
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  case $line in
  *'"method":"initialize"'*) result='{"name":"guard","hooks":["post_user_input"],"tools":[]}' ;;
  *'"method":"hook/'*) while [[ ! -e ~/go ]]; do read -rt 0.05 <> <(:); done; result='{"action":"continue"}' ;;
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`)
	if err := os.Chmod(filepath.Join(home, ".local/scaffold/plugins/guard"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, s, end := atTerminal(t, patchbayIn(home, "chat", "-p", "hello"))
	await(t, func() bool { return strings.Contains(s.String(), "waiting for guard (turn.input)") })
	write(t, home, "go", "")
	if code := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s)
	}
}

// TestSlowPluginsAreNamedInChat: chat names plugins that are not ready before it draws its screen.
func TestSlowPluginsAreNamedInChat(t *testing.T) {
	home := slowPlugins(t)
	term := atPatchbay(t, home, "chat")
	term.shows("starting slow, 1 of 2 ready")
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if text := term.shows("Ask anything", "2 plugins"); strings.Contains(text, "starting slow") {
		t.Errorf("the line is still there:\n%s", text)
	}
	term.keys("C-d")
	term.ended()
}
