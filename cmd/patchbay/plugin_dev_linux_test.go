package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// A devEvent is a line of `plugin dev --json`, with the fields that the tests check.
type devEvent struct {
	Event    string
	Text     string
	Grant    string
	Error    string
	Reason   string
	Files    []string
	Problems []struct {
		Path    string
		Line    int
		Message string
	}
	Outcome *struct {
		Verdict string
		Payload json.RawMessage
		Steps   []struct{ Sent, Received json.RawMessage }
	}
	Result *struct{ Result string }
	Answer json.RawMessage
	raw    string
}

// A dev is `patchbay plugin dev` without a terminal.
type dev struct {
	t      *testing.T
	home   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	events chan devEvent // in their order; closed at the end
	ended  chan error
}

// startDev starts plugin dev for the plugin at a path, which is relative to the home.
func startDev(t *testing.T, home, path string, more ...string) *dev {
	t.Helper()
	d := &dev{t: t, home: home, events: make(chan devEvent, 10_000), ended: make(chan error, 1)}
	d.cmd = patchbayIn(home, append([]string{"plugin", "dev", path, "--json"}, more...)...)
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if d.in, err = d.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.cmd.Process.Kill() }) // it may have ended
	go func() {                                    // this goroutine owns out
		defer close(d.events)
		lines := bufio.NewScanner(out)
		for lines.Buffer(nil, 1<<20); lines.Scan(); {
			e := devEvent{raw: lines.Text()}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				t.Errorf("not JSON: %s", lines.Text())
			}
			d.events <- e
		}
		d.ended <- d.cmd.Wait()
	}()
	return d
}

// next waits for an event of a kind, and skips others.
func (d *dev) next(kind string) devEvent {
	d.t.Helper()
	var passed []string
	for late := time.After(patience); ; {
		select {
		case e, more := <-d.events:
			if !more {
				d.t.Fatalf("it ended without %q:\n%s", kind, strings.Join(passed, "\n"))
			}
			if e.Event == kind {
				return e
			}
			passed = append(passed, e.raw)
		case <-late:
			d.t.Fatalf("no %q came:\n%s", kind, strings.Join(passed, "\n"))
		}
	}
}

// types types a command.
func (d *dev) types(line string) {
	d.t.Helper()
	if _, err := fmt.Fprintln(d.in, line); err != nil {
		d.t.Fatal(err)
	}
}

// replaces changes a file as editors do: it renames a new file over the old one.
func (d *dev) replaces(name, old, new string) {
	d.t.Helper()
	path := filepath.Join(d.home, name)
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		d.t.Fatalf("%s has no %q", name, old)
	}
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".swp")
	info, err := os.Stat(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(draft, []byte(strings.ReplaceAll(string(text), old, new)), info.Mode()); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(draft, path); err != nil {
		d.t.Fatal(err)
	}
}

// quits ends plugin dev, and checks the exit code.
func (d *dev) quits(code int) {
	d.t.Helper()
	d.types("quit")
	d.next("ended")
	d.exits(code)
}

func (d *dev) exits(code int) {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatal("it did not end")
	}
	if got := d.cmd.ProcessState.ExitCode(); got != code {
		d.t.Errorf("exit code %d, want %d", got, code)
	}
}

const rpcLoop = `#!/usr/bin/env bash
while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]} || continue
  case $line in
%s
  *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%%s,"result":%%s}\n' "$id" "$result"
done
`

// A devPlugin is a plugin that answers with the word ONE, which the test changes.
type devPlugin struct {
	files   map[string]string
	path    string
	changed string   // the file that contains the word
	command string   // the command that calls the plugin
	flags   []string // of plugin dev
}

// devPlugins returns one plugin of each dialect.
func devPlugins() map[string]devPlugin {
	type files = map[string]string
	return map[string]devPlugin{
		"scaffold": {path: "shout", changed: "shout", command: "fire turn.input", files: files{"shout": fmt.Sprintf(rpcLoop, `
  *'"method":"initialize"'*) result='{"name":"shout","version":"1.0.0","hooks":["post_user_input"],"tools":[{"name":"count","description":"counts","parameters":[]}]}' ;;
  *'"method":"hook/post_user_input"'*) echo "was asked" >&2; result='{"action":"continue","message":"ONE"}' ;;`)}},
		"kaged": {path: "notes", changed: "notes/notes.sh", command: "call notes.word {}", files: files{
			"notes/manifest.yaml": "name: notes\nversion: 0.1.0\nkaged_api: 1\ndescription: d\ncommand: [./notes.sh]\nmethods: [notes.word]\n",
			"notes/notes.sh": fmt.Sprintf(rpcLoop, `
  *'"method":"initialize"'*) result='{"name":"notes","version":"0.1.0","api_version":1,"methods":["notes.word"],"notifications":[],"capabilities_used":[]}' ;;
  *'"method":"notes.word"'*) result='{"word":"ONE"}' ;;`)}},
		"mine": {path: "tagger", changed: "tagger/mine-plugin-tagger", command: "fire command.before", files: files{
			"tagger/mine-plugin.toml": "[plugin]\nname = \"tagger\"\nversion = \"1.0.0\"\ndescription = \"d\"\nauthor = \"a\"\nprotocol_version = \"1.0.0\"\n" +
				"[[hooks]]\ncommand = \"todo.*\"\nstage = \"preexec\"\nmode = \"transform\"\n",
			"tagger/mine-plugin-tagger": "#!/bin/bash\nread -r call\ncase $call in\n*'\"type\":\"lifecycle\"'*) echo '{\"status\":\"ok\"}' ;;\n" +
				"*) echo '{\"status\":\"ok\",\"context\":{\"command\":\"todo.sample\",\"args\":[\"ONE\"],\"flags\":{},\"result\":null,\"timestamp\":\"2026-01-01T00:00:00Z\"}}' ;;\nesac\n"}},
		"dotagent": {path: "keep", changed: "keep/dotagent-plugin-keep", command: "fire job.preflight", files: files{
			"keep/README.md": "about it\n",
			"keep/dotagent-plugin-keep": "#!/bin/bash\ncase $1 in\ninfo) echo '{\"name\":\"keep\",\"version\":\"1.0.0\",\"kinds\":[\"preflight\"]}' ;;\n" +
				"validate) echo '{\"ok\":true}' ;;\n*) echo '{\"ok\":false,\"error\":\"ONE\"}' ;;\nesac\n"}},
		"python": {path: "signer.py", changed: "signer.py", command: "fire turn.final", files: files{
			"signer.py": "\"\"\"Signs.\"\"\"\n__plugin__ = {\"api\": \"1.0\", \"name\": \"signer\"}\n\n@on_final\nasync def sign(ctx, text):\n    return text + \" ONE\"\n"}},
		"mcp": {path: "server", changed: "server", command: "call word", flags: []string{"--dialect", "mcp"}, files: files{"server": fmt.Sprintf(rpcLoop, `
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"server","version":"1"}}' ;;
  *'"method":"tools/list"'*) result='{"tools":[{"name":"word","description":"says it","inputSchema":{"type":"object"}}]}' ;;
  *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"ONE"}]}' ;;`)}},
	}
}

// install writes the plugin's files into a home.
func (p devPlugin) install(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range p.files {
		write(t, home, name, text)
		if strings.HasPrefix(text, "#!") {
			if err := os.Chmod(filepath.Join(home, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	return home
}

// TestPluginDev: a plugin of each dialect gets a sample, its file is replaced, and the next answer
// is that of the new file.
func TestPluginDev(t *testing.T) {
	for dialect, p := range devPlugins() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			plugtest.NeedTool(t, "bash")
			if dialect == "python" {
				plugtest.NeedTool(t, "python3")
			}
			d := startDev(t, p.install(t), p.path, p.flags...)
			if e := d.next("ready"); e.Reason != "start" {
				t.Errorf("ready: %s", e.raw)
			}
			kind := map[string]string{"fire": "fired", "call": "called"}[strings.Fields(p.command)[0]]
			d.types(p.command)
			if e := d.next(kind); !strings.Contains(e.raw, "ONE") {
				t.Errorf("the first answer: %s", e.raw)
			}
			d.replaces(p.changed, "ONE", "TWO")
			d.types("again")
			if e := d.next(kind); !strings.Contains(e.raw, "TWO") || strings.Contains(e.raw, "ONE") {
				t.Errorf("the answer after the change: %s", e.raw)
			}
			d.quits(0)
		})
	}
}

// TestPluginDevReloads: a change is noticed without a command. A mistake is shown with its line,
// and the next change can fix it.
func TestPluginDevReloads(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	d := startDev(t, devPlugins()["python"].install(t), "signer.py")
	d.next("ready")
	d.replaces("signer.py", "return text", "retrun text")
	if e := d.next("changed"); len(e.Files) != 1 || filepath.Base(e.Files[0]) != "signer.py" {
		t.Errorf("changed: %s", e.raw)
	}
	if e := d.next("broken"); len(e.Problems) == 0 || e.Problems[0].Line != 6 {
		t.Errorf("broken: %s", e.raw)
	}
	d.types("fire turn.final")
	if e := d.next("error"); !strings.Contains(e.Error, "does not work") {
		t.Errorf("an event for a plugin that does not work: %s", e.raw)
	}
	d.replaces("signer.py", "retrun text", "return text")
	if e := d.next("ready"); e.Reason != "change" {
		t.Errorf("ready: %s", e.raw)
	}
	d.quits(1) // one command failed
}

// TestPluginDevEndsThePlugin: however plugin dev ends, no process is left.
func TestPluginDevEndsThePlugin(t *testing.T) {
	plugtest.NeedTool(t, "bash")
	for rule, c := range map[string]struct {
		end  func(*dev)
		code int
	}{
		"the end of stdin": {func(d *dev) { d.in.Close() }, 0},
		"SIGTERM":          {func(d *dev) { _ = d.cmd.Process.Signal(syscall.SIGTERM) }, 130},
		"SIGHUP":           {func(d *dev) { _ = d.cmd.Process.Signal(syscall.SIGHUP) }, 130},
		"SIGINT in a call": {func(d *dev) {
			d.types("call notes.word")
			d.next("stderr")
			_ = d.cmd.Process.Signal(os.Interrupt)
		}, 130},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			p := devPlugins()["kaged"]
			p.files[p.changed] = strings.Replace(p.files[p.changed], `result='{"word":"ONE"}'`, "echo waits >&2; sleep 600", 1)
			d := startDev(t, p.install(t), p.path)
			var ready struct{ Plugin struct{ Pid int } }
			if err := json.Unmarshal([]byte(d.next("ready").raw), &ready); err != nil || ready.Plugin.Pid == 0 {
				t.Fatal("no process: ", err)
			}
			c.end(d)
			d.exits(c.code)
			await(t, func() bool { return syscall.Kill(ready.Plugin.Pid, 0) != nil })
		})
	}
}

// TestPluginDevInATerminal: keys choose an event, edit and resend it, and restart the plugin. The
// events stay in the scrollback.
func TestPluginDevInATerminal(t *testing.T) {
	home := devPlugins()["scaffold"].install(t)
	write(t, home, "editor", "sed -i 's/Hello, plugin!/as edited/' \"$1\"\n")
	path, err := exec.LookPath("patchbay")
	if err != nil {
		t.Fatal(err)
	}
	cmd := patchbayIn(home, "plugin", "dev", "shout")
	cmd.Path, cmd.Env = path, append(cmd.Env, "EDITOR=sh editor", "PAGER=cat")
	term := openTerminal(t, cmd)
	term.shows("ready shout 1.0.0 (scaffold), 1 hook, 1 tool", "shout (scaffold) is ready, process", "f fire", "q quit")
	term.keys("f")
	term.shows("❯ 1 fire turn.input  post_user_input", "  2 call plugin_shout_count", "esc goes back")
	term.keys("Down")
	term.shows("❯ 2 call plugin_shout_count")
	term.keys("1")
	term.shows("- Hello, plugin!", "+ ONE", "stderr │ was asked")
	term.keys("e")
	term.shows("- as edited")
	(&dev{t: t, home: home}).replaces("shout", "ONE", "TWO")
	term.shows("changed shout")
	term.keys("a")
	term.shows("+ TWO")
	term.keys("r")
	term.keys("?")
	term.shows("restart the plugin, and cancel what is running")
	term.keys("q")
	term.ended()
}
