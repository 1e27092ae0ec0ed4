package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// hostileSecret is in a file outside of every plugin. No output may contain it.
const hostileSecret = "canary-of-the-operator"

// A hostile is a directory among the kaged plugins, whose contents an attacker has made.
type hostile struct {
	attempt string
	dir     string // below the plugins' directory
	ship    func(h *hostileHome, dir string)
	state   string // its state in `plugin list`
	says    string // a pattern of its error, or of doctor's message about it if it is ready
	runs    bool   // it may run with sandbox = "off"
}

// hostiles lists all hostile directories. One plugin beside them is honest: notes.
func hostiles() []hostile {
	long := strings.Repeat("n", 255)
	named := func(name string) func(*hostileHome, string) {
		return func(h *hostileHome, dir string) { h.plugin(dir, name, "./run") }
	}
	calls := func(name, command string) func(*hostileHome, string) {
		return func(h *hostileHome, dir string) { h.plugin(dir, name, command) }
	}
	const badName = `manifest\.yaml:1:7: .*name`
	return []hostile{
		{"a name with a new line", "line", named(`"a\nb"`), "broken", badName, false},
		{"a directory with a new line", "a\nb", func(h *hostileHome, dir string) { h.mkdir(dir) }, "broken", `no manifest\.yaml`, false},
		{"a name with an escape sequence", "obeyed", named(`"\e[31mred"`), "broken", badName, false},
		{"a directory with an escape sequence", "\x1b[2J\x07clear", func(h *hostileHome, dir string) { h.mkdir(dir) }, "broken", `no manifest\.yaml`, false},
		{"a name that is written from right to left", "turned", named(`"setn\u202Eton"`), "broken", badName, false},
		{"a directory that is written from right to left", "\u202esetn\u2066on", func(h *hostileHome, dir string) { h.mkdir(dir) }, "broken", `no manifest\.yaml`, false},
		{"a name that leads out of the directory", "out", named(`"../../../secret"`), "broken", badName, false},
		{"a name that is the directory above", "above", named(`".."`), "broken", badName, false},
		{"a name that is a flag", "-x", named(`"-x"`), "broken", badName, false},
		{"a very long name", "endless", named(strings.Repeat("n", 5000)), "broken", badName, false},
		{"a directory with the longest name", long, func(h *hostileHome, dir string) { h.mkdir(dir) }, "broken", `no manifest\.yaml`, false},
		{"a name that looks like another's", "look-alike", named(`"n\u043Etes"`), "broken", badName, false},
		{"the name of another plugin", "zz-notes", named("notes"), "skipped", `notes`, false},
		{"a manifest that is a link to the operator's secret", "link", func(h *hostileHome, dir string) {
			h.program(dir+"/run", "link")
			h.link(h.home+"/secret/key", dir+"/manifest.yaml")
		}, "broken", `manifest\.yaml`, false},
		{"a manifest that is a named pipe", "pipe", func(h *hostileHome, dir string) {
			h.program(dir+"/run", "pipe")
			h.must(syscall.Mkfifo(dir+"/manifest.yaml", 0o644))
		}, "broken", `a named pipe`, false},
		{"a manifest that is a directory", "folder", func(h *hostileHome, dir string) { h.mkdir(dir + "/manifest.yaml") }, "broken", `a directory`, false},
		{"a manifest that is a device", "device", func(h *hostileHome, dir string) {
			h.mkdir(dir)
			h.link("/dev/zero", dir+"/manifest.yaml")
		}, "broken", `a device`, false},
		{"a manifest of a terabyte", "huge", func(h *hostileHome, dir string) {
			h.plugin(dir, "huge", "./run")
			h.must(os.Truncate(dir+"/manifest.yaml", 1<<40))
		}, "broken", `not a manifest`, false},
		{"a deeply nested manifest", "deep", func(h *hostileHome, dir string) {
			h.plugin(dir, "deep", "./run")
			h.write(dir+"/manifest.yaml", "name: deep\nconfig_schema: "+strings.Repeat("[", 100_000)+"\n", 0o644)
		}, "broken", `manifest\.yaml`, false},
		{"two manifests", "two", func(h *hostileHome, dir string) {
			h.plugin(dir, "two", "./run")
			h.write(dir+"/kaged-plugin.yaml", "name: notes\ncommand: ["+h.home+"/secret/tool]\n", 0o644)
		}, "ready", `kaged-plugin\.yaml beside it is not`, true},
		{"a program that is a directory", "place", func(h *hostileHome, dir string) {
			h.plugin(dir, "place", "./bin")
			h.mkdir(dir + "/bin")
		}, "broken", `directory`, false},
		{"a program that is a ring of links", "ring", func(h *hostileHome, dir string) {
			h.plugin(dir, "ring", "./a")
			h.link("b", dir+"/a")
			h.link("a", dir+"/b")
		}, "broken", `more than 40 links`, false},
		{"a program behind fifty links", "chain", func(h *hostileHome, dir string) {
			h.plugin(dir, "chain", "./link0")
			for i := range 50 {
				h.link(fmt.Sprintf("link%d", i+1), fmt.Sprintf("%s/link%d", dir, i))
			}
			h.link(h.home+"/secret/tool", dir+"/link50")
		}, "broken", `more than 40 links`, false},
		{"a program deeper than a path may be", "abyss", calls("abyss", "./"+strings.Repeat("d/", 2500)+"run"), "broken", `too long`, false},
		{"a program behind the longest link", "winding", func(h *hostileHome, dir string) {
			h.plugin(dir, "winding", "./tool")
			out := h.home + "/secret/tool"
			h.link(strings.Repeat("/", 4000-len(out))+out, dir+"/tool")
		}, "broken", `exec:tool:`, true},
		{"a program that is a flag", "flag", calls("flag", "-c"), "broken", `-c`, false},
		{"a program outside", "thief", func(h *hostileHome, dir string) { h.plugin(dir, "thief", h.home+"/secret/tool") }, "broken", `exec:tool:`, true},
		{"a grant that is a link to the outside", "granted", func(h *hostileHome, dir string) {
			h.plugin(dir, "granted", "./run")
			h.edit(dir+"/manifest.yaml", "capabilities: []", `capabilities: ["read:fs:`+dir+`/data"]`)
			h.link(h.home+"/secret", dir+"/data")
		}, "broken", `/data.*/secret`, true},
		{"a .venv whose interpreter is outside", "venv", func(h *hostileHome, dir string) {
			h.plugin(dir, "venv", "./main")
			h.mkdir(dir + "/.venv/bin")
			h.link(h.home+"/secret/tool", dir+"/.venv/bin/python")
			h.write(dir+"/main", "#!"+dir+"/.venv/bin/python\n", 0o755)
		}, "broken", `exec:(python|tool):`, true},
	}
}

// A hostileHome is a home with such plugins, and a secret.
type hostileHome struct {
	t    *testing.T
	home string
}

func (h *hostileHome) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *hostileHome) mkdir(dir string) { h.t.Helper(); h.must(os.MkdirAll(dir, 0o755)) }

func (h *hostileHome) link(to, at string) { h.t.Helper(); h.must(os.Symlink(to, at)) }

func (h *hostileHome) write(path, text string, mode os.FileMode) {
	h.t.Helper()
	h.mkdir(filepath.Dir(path))
	h.must(os.WriteFile(path, []byte(text), mode))
}

func (h *hostileHome) edit(path, old, text string) {
	h.t.Helper()
	before, err := os.ReadFile(path)
	h.must(err)
	h.write(path, strings.Replace(string(before), old, text, 1), 0o644)
}

// program writes a kaged plugin that works, and that makes a file if it is not confined.
func (h *hostileHome) program(path, name string) {
	h.t.Helper()
	h.write(path, `#!/bin/sh
(: >`+h.home+`/marks/`+filepath.Base(filepath.Dir(path))+`) 2>/dev/null
while IFS= read -r line; do
  id=${line##*\"id\":}; id=${id%%[!0-9]*}
  case $line in
  *'"method":"initialize"'*) r='{"name":"`+name+`","version":"1.0.0","api_version":1,"methods":["x.y"],"notifications":[],"capabilities_used":[]}' ;;
  *) r='{}' ;;
  esac
  [ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`, 0o755)
}

// plugin writes a manifest and a program that works. name is YAML.
func (h *hostileHome) plugin(dir, name, command string) {
	h.t.Helper()
	h.write(dir+"/manifest.yaml", "name: "+name+"\nversion: 1.0.0\nkaged_api: 1\ndescription: x\ncommand: [\""+command+"\"]\nmethods: [x.y]\ncapabilities: []\n", 0o644)
	h.program(dir+"/run", filepath.Base(dir))
}

func (h *hostileHome) plugins() string { return filepath.Join(h.home, ".local/share/kaged/plugins") }

// run runs a command. Its output may contain neither the secret nor control characters.
func (h *hostileHome) run(args ...string) string {
	h.t.Helper()
	cmd := patchbayIn(h.home, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	h.must(cmd.Start())
	late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !late.Stop() {
		h.t.Fatalf("%q hangs: %s", args, stderr.String())
	}
	for name, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if strings.Contains(text, hostileSecret) {
			h.t.Errorf("%q: %s has the operator's secret: %s", args, name, text)
		}
		if at := strings.IndexFunc(text, obeyed); at >= 0 {
			r, _ := utf8.DecodeRuneInString(text[at:])
			h.t.Errorf("%q: %s has %U, which controls a terminal: %.200q", args, name, r, text[max(0, at-100):])
		}
	}
	h.t.Logf("patchbay %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	return stdout.String()
}

// obeyed reports whether a character controls a terminal instead of being shown: control characters
// and marks of direction.
func obeyed(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// TestHostilePlugins: whatever name and contents a directory among the plugins has, nothing outside
// of it is read, mounted or started. A plugin that must not start does not, and the message says
// why.
func TestHostilePlugins(t *testing.T) {
	h := &hostileHome{t, t.TempDir()}
	h.mkdir(h.home + "/marks")
	h.write(h.home+"/secret/key", "key: "+hostileSecret+"\n"+hostileSecret+": [\n", 0o600)
	h.program(h.home+"/secret/tool", "tool")
	h.plugin(h.plugins()+"/notes", "notes", "./run")
	all := hostiles()
	for _, c := range all {
		c.ship(h, filepath.Join(h.plugins(), c.dir))
	}
	listed := h.list()
	for _, c := range all {
		t.Run(c.attempt, func(t *testing.T) { h.checkState(t, c, listed) })
	}
	if got := listed[filepath.Join(h.plugins(), "notes")]; got.State != "ready" {
		t.Errorf("the honest plugin is %s: %s", got.State, got.Error)
	}
	table := h.run("plugin", "list")
	findings := h.run("doctor")
	for _, c := range all {
		if c.state == "ready" && !regexp.MustCompile(c.says).MatchString(findings) {
			t.Errorf("%s: doctor does not say %s", c.attempt, c.says)
		}
	}
	for _, text := range []string{table, findings} {
		if line := regexp.MustCompile(`(?m)^b\b.*`).FindString(text); line != "" {
			t.Errorf("a part of a name begins a new line: %q", line)
		}
	}
	t.Run("nothing outside of the plugins is mounted", h.checkMounts)
	t.Run("without a sandbox the broken plugins are not started either", h.checkNoneStarts)
}

// A listedPlugin is a plugin in the output of `plugin list --json`.
type listedPlugin struct {
	Name, Path, State, Error string
	PID                      *int
}

// list returns what `plugin list` reports, by the name of each plugin's directory.
func (h *hostileHome) list() map[string]listedPlugin {
	h.t.Helper()
	var got []listedPlugin
	text := h.run("plugin", "list", "--dialect", "kaged", "--json")
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		h.t.Fatalf("%v: %s", err, text)
	}
	by := make(map[string]listedPlugin)
	for _, p := range got {
		by[p.Path] = p
	}
	return by
}

func (h *hostileHome) checkState(t *testing.T, c hostile, listed map[string]listedPlugin) {
	t.Helper()
	got, ok := listed[filepath.Join(h.plugins(), c.dir)]
	if !ok || got.State != c.state || c.state != "ready" && got.PID != nil {
		t.Errorf("%+v, want it %s", got, c.state)
	}
	if c.state != "ready" && !regexp.MustCompile(c.says).MatchString(got.Error) {
		t.Errorf("its error is %q, want %s", got.Error, c.says)
	}
	if len(got.Error) > 1000 {
		t.Errorf("its error has %d bytes: %.100q…", len(got.Error), got.Error)
	}
}

// checkMounts checks the mounts of all plugins that could be started.
func (h *hostileHome) checkMounts(t *testing.T) {
	for _, name := range []string{"notes", "two", "thief", "venv", "chain", "winding", "ring", "place", "granted"} {
		var info struct {
			Mounts []struct{ Path, Because string }
		}
		text := h.run("plugin", "info", name, "--json")
		if err := json.Unmarshal([]byte(text), &info); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		for _, m := range info.Mounts {
			if m.Because == "its own, in memory" { // /tmp, which contains no file of the machine
				continue
			}
			if strings.HasPrefix(h.home, m.Path+"/") || m.Path == h.home || strings.HasPrefix(m.Path, h.home+"/secret") {
				t.Errorf("%s sees %s: %s", name, m.Path, m.Because)
			}
		}
	}
}

// checkNoneStarts runs every plugin that may run, and checks the files that they made.
func (h *hostileHome) checkNoneStarts(t *testing.T) {
	h.write(h.home+"/.config/patchbay/config.toml", "sandbox = \"off\"\n", 0o600)
	h.list()
	marks, err := os.ReadDir(h.home + "/marks")
	h.must(err)
	may := map[string]bool{"notes": true, "secret": true}
	for _, c := range hostiles() {
		may[c.dir] = c.runs
	}
	seen := make(map[string]bool)
	for _, m := range marks {
		seen[m.Name()] = true
		if !may[m.Name()] {
			t.Errorf("%q was started", m.Name())
		}
	}
	if !seen["notes"] || !seen["two"] {
		t.Errorf("the marks are %v: those of the working plugins are missing, so the test proves nothing", seen)
	}
}
