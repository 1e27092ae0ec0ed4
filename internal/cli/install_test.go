package cli

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/plugininstall"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

func TestUnit(t *testing.T) {
	a := &app{IO: IO{Environ: []string{"PATH=/opt/my bin:/usr/bin", "OPENAI_API_KEY=hunter2", "PATCHBAY_MODEL=openai:100%", "SECRET=hunter3"}}}
	dirs := config.Dirs{Home: "/home/me"}
	command := a.serveCommand("/opt/my tools/patchbay", serveFlags{listen: "127.0.0.1:9000", access: true, model: modelFlags{model: "openai:m", script: "/s/$x.yaml"}})
	t.Run("systemd", func(t *testing.T) {
		u, err := a.unit("linux", dirs, command)
		if err != nil || u.path != "/home/me/.config/systemd/user/patchbay.service" {
			t.Fatalf("%+v, %v", u, err)
		}
		for _, want := range []string{
			`ExecStart="/opt/my tools/patchbay" serve --listen 127.0.0.1:9000 --model openai:m --script /s/$$x.yaml --access-log` + "\n",
			"Environment=\"PATH=/opt/my bin:/usr/bin\"\n", "Environment=PATCHBAY_MODEL=openai:100%%\n", "PassEnvironment=OPENAI_API_KEY\n",
		} {
			if !strings.Contains(u.text, want) {
				t.Errorf("no %q in\n%s", want, u.text)
			}
		}
		if strings.Contains(u.text, "hunter") {
			t.Errorf("a key's value is in the file:\n%s", u.text)
		}
	})
	t.Run("launchd", func(t *testing.T) {
		u, err := a.unit("darwin", dirs, a.serveCommand("/opt/a&b/patchbay", serveFlags{}))
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(strings.NewReader(u.text))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, u.text)
			}
		}
		if !strings.Contains(u.text, "<string>/opt/a&amp;b/patchbay</string>") || !strings.Contains(u.text, "<key>PATH</key><string>/opt/my bin:/usr/bin</string>") ||
			strings.Contains(u.text, "hunter") {
			t.Error(u.text)
		}
	})
	t.Run("another system is refused", func(t *testing.T) {
		if _, err := a.unit("plan9", dirs, command); err == nil {
			t.Error("no error")
		}
	})
	t.Run("on another system nothing is installed", func(t *testing.T) {
		_, err := (&app{IO: newConsole(t).IO}).installedUnit("plan9")
		if err == nil || statedKind(err) != kindNotFound || !strings.HasPrefix(err.Error(), "the daemon is not installed: ") || strings.Contains(err.Error()+fixOf(err), "--install") {
			t.Errorf("%v, fix: %s", err, fixOf(err))
		}
	})
	t.Run("a value cannot add a line", func(t *testing.T) {
		if _, err := a.unit("linux", dirs, a.serveCommand("/p", serveFlags{model: modelFlags{model: "a:b\nExecStartPre=/bin/evil"}})); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a variable that cannot be written does not keep a service installed", func(t *testing.T) {
		odd := &app{IO: newConsole(t).IO}
		odd.Environ = []string{"HOME=/home/me", "PATH=/bin:/a\nb"}
		if _, err := odd.unit("linux", dirs, command); err == nil {
			t.Error("the service was planned")
		}
		if u, err := odd.unit("linux", dirs, nil); err != nil || u.path == "" {
			t.Errorf("%+v, %v", u, err)
		}
	})
	t.Run("a file of another program is not overwritten", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "patchbay.service")
		if err := writeUnit(unit{path: path, text: "# " + installed + "\n1"}); err != nil {
			t.Fatal(err)
		}
		if err := writeUnit(unit{path: path, text: "2"}); err != nil {
			t.Fatal(err)
		}
		if err := writeUnit(unit{path: path, text: "3"}); err == nil {
			t.Error("a file of another program was overwritten")
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "2" {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestAnInstalledServiceAt80Columns: no line is wider than the terminal, which would break the line
// within a word.
func TestAnInstalledServiceAt80Columns(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1", "ANTHROPIC_API_KEY=x")
	c.Width, c.OutTTY = 80, true
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	if err := a.showInstalled(unit{path: "/u/patchbay.service", linger: "/nowhere"}, &httpapi.DaemonStatus{PID: 1234567, HTTP: "http://127.0.0.1:8000"}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(c.out.String()) {
		if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
	if !strings.Contains(c.out.String(), "\n! ANTHROPIC_API_KEY is only") || !strings.Contains(c.out.String(), "loginctl enable-linger") {
		t.Error(c.out.String())
	}
}

// TestAnInstalledPluginAt80Columns: no sentence about an installed plugin is wider than the
// terminal.
func TestAnInstalledPluginAt80Columns(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	c.Width, c.OutTTY = 80, true
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	p := &plugininstall.Placed{Name: "hello", Dialect: "kaged", Path: "/p/hello", Replaced: true, Unchanged: true,
		Capabilities: []string{"read:fs:/srv/notes", "net:example.org:443", "exec:/usr/bin/git", "net:other.example.org:443"},
		Withheld:     []string{"read:fs:/srv/more"}, Notes: []string{strings.Repeat("a note ", 15)}}
	for _, path := range []string{"installed:.gitignore", "installed:README.md", "installed:go.mod"} {
		p.Changes = append(p.Changes, trust.FileChange{Change: trust.Change{Path: path, Kind: "removed"}})
	}
	a.printPlaced(p)
	for line := range strings.Lines(c.out.String()) {
		if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
}
