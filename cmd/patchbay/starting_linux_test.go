package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// slowPlugins makes a home with two plugins: one answers at once, the other when a file exists.
func slowPlugins(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range map[string]string{
		".config/patchbay/config.toml": "[plugins.slow]\ntimeout = \"60s\"\n[plugins.quick]\ntimeout = \"60s\"\n",
		".local/scaffold/plugins/quick": "#!/bin/sh\nread -r line\n" +
			`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"quick","version":"1","hooks":[]}}'` + "\nread -r line\n",
		".local/scaffold/plugins/slow": "#!/bin/sh\nread -r line\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n" +
			`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"slow","version":"1","hooks":[]}}'` + "\nread -r line\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// stopping reports whether a line on the screen names a plugin that is being stopped, perhaps among
// others.
func stopping(plugin string, s *screen) bool {
	for _, line := range strings.Split(s.String(), "\r\x1b[K") {
		if _, names, found := strings.Cut(line, "stopping "); found && strings.Contains(names, plugin) {
			return true
		}
	}
	return false
}

// TestPluginsThatAreSlowToStopAreNamed: when a command is over, a line on the terminal names the
// plugins that it still waits for.
func TestPluginsThatAreSlowToStopAreNamed(t *testing.T) {
	home := slowPlugins(t)
	stuck := filepath.Join(home, ".local/scaffold/plugins/slow")
	script := "#!/bin/sh\ntrap '' TERM\nread -r line\n" +
		`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"slow","version":"1","hooks":[]}}'` + "\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n"
	if err := os.WriteFile(stuck, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, s, end := atTerminal(t, patchbayIn(home, "plugin", "list", "--dialect", "scaffold"))
	await(t, func() bool { return stopping("slow", s) })
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s)
	}
	if text := s.String(); strings.LastIndex(text, "stopping") > strings.LastIndex(text, "\r\x1b[K") {
		t.Errorf("the line is still there: %q", text)
	}
}

// TestSlowPluginsAreNamed: while plugins start, a line on the terminal names those that are not
// ready. It is removed before the result.
func TestSlowPluginsAreNamed(t *testing.T) {
	home := slowPlugins(t)
	_, s, end := atTerminal(t, patchbayIn(home, "plugin", "list", "--dialect", "scaffold"))
	await(t, func() bool { return strings.Contains(s.String(), "starting slow, 1 of 2 ready") })
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s)
	}
	await(t, func() bool { return strings.Contains(s.String(), "quick") })
	if before, _, _ := strings.Cut(s.String(), "NAME"); strings.LastIndex(before, "starting") > strings.LastIndex(before, "\r\x1b[K") {
		t.Errorf("the line is still there: %q", s)
	}
}

// TestPluginsThatAreSlowToStopAreNamedAfterCtrlC: a plugin that is slow to stop is also named if
// Ctrl-C has ended the start of another one.
func TestPluginsThatAreSlowToStopAreNamedAfterCtrlC(t *testing.T) {
	home := slowPlugins(t)
	stuck := filepath.Join(home, ".local/scaffold/plugins/stuck")
	script := "#!/bin/sh\ntrap '' TERM\nread -r line\n" +
		`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"stuck","version":"1","hooks":[]}}'` + "\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n"
	if err := os.WriteFile(stuck, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, home, ".config/patchbay/config.toml", "[plugins.slow]\ntimeout = \"60s\"\n[plugins.quick]\ntimeout = \"60s\"\n[plugins.stuck]\ntimeout = \"60s\"\n")
	master, s, end := atTerminal(t, patchbayIn(home, "plugin", "list", "--dialect", "scaffold"))
	await(t, func() bool { return strings.Contains(s.String(), "starting slow, 2 of 3 ready") })
	if _, err := master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return stopping("stuck", s) })
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := end(); code != 130 {
		t.Errorf("exit code %d: %s", code, s)
	}
}

// TestRunShowsWhatItWaitsFor: while a plugin handles an event of `patchbay run`, or is slow to
// stop, the terminal names it. What the program has printed without a line end stays on the screen.
func TestRunShowsWhatItWaitsFor(t *testing.T) {
	home := t.TempDir()
	write(t, home, ".local/share/mine/plugins/slow/mine-plugin.toml", "[plugin]\nname = \"slow\"\nversion = \"1\"\ndescription = \"d\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n"+
		"[[hooks]]\ncommand = \"*\"\nstage = \"preexec\"\nmode = \"transform\"\ntimeout = \"60s\"\n[[hooks]]\ncommand = \"*\"\nstage = \"notify\"\nmode = \"notify\"\ntimeout = \"60s\"\n")
	program := filepath.Join(home, ".local/share/mine/plugins/slow/mine-plugin-slow")
	write(t, home, ".local/share/mine/plugins/slow/mine-plugin-slow", `#!/bin/sh
read -r call
case $call in
*preexec*) file=before ;;
*notify*) file=after ;;
*shutdown*) file=end ;;
*) exit ;;
esac
until [ -e "$HOME/$file" ]; do sleep 0.05; done
`)
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	term := atPatchbay(t, home, "run", "--", "printf", "unfinished")
	term.shows("waiting for slow (command.before)")
	write(t, home, "before", "")
	term.shows("unfinished\nwaiting for slow (command.done)")
	write(t, home, "after", "")
	term.shows("unfinished\nstopping slow")
	write(t, home, "end", "")
	term.ended()
}

// TestSlowCallsAreShown: while a plugin handles an event, a line on the terminal says what the
// command waits for.
func TestSlowCallsAreShown(t *testing.T) {
	home := slowPlugins(t)
	slow := filepath.Join(home, ".local/scaffold/plugins/slow")
	script := "#!/bin/sh\nread -r line\n" +
		`echo '{"jsonrpc":"2.0","id":1,"result":{"name":"slow","version":"1","hooks":["post_user_input"]}}'` +
		"\nread -r line\nuntil [ -e \"$HOME/go\" ]; do sleep 0.05; done\n" +
		`echo '{"jsonrpc":"2.0","id":2,"result":{"message":"at last"}}'` + "\nread -r line\n"
	if err := os.WriteFile(slow, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, s, end := atTerminal(t, patchbayIn(home, "fire", "turn.input", "--data", `{"message":"now"}`))
	await(t, func() bool { return strings.Contains(s.String(), "waiting for the plugins at turn.input") })
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d: %s", code, s)
	}
	await(t, func() bool { return strings.Contains(s.String(), "at last") })
	if before, _, _ := strings.Cut(s.String(), "continue"); strings.LastIndex(before, "waiting") > strings.LastIndex(before, "\r\x1b[K") {
		t.Errorf("the line is still there: %q", s)
	}
}
