package cli

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
)

func TestUnit(t *testing.T) {
	a := &app{}
	dirs := config.Dirs{Home: "/home/me"}
	command := func() []string { return serveCommand("/opt/my tools/patchbay", "", "127.0.0.1:9000") }
	t.Run("systemd", func(t *testing.T) {
		u, err := a.unit("linux", dirs, command())
		if err != nil || u.path != "/home/me/.config/systemd/user/patchbay.service" {
			t.Fatalf("%+v, %v", u, err)
		}
		if want := `ExecStart="/opt/my tools/patchbay" serve --listen 127.0.0.1:9000` + "\n"; !strings.Contains(u.text, want) {
			t.Errorf("no %q in\n%s", want, u.text)
		}
	})
	t.Run("launchd", func(t *testing.T) {
		u, err := a.unit("darwin", dirs, serveCommand("/opt/a&b/patchbay", "", ""))
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
		if !strings.Contains(u.text, "<string>/opt/a&amp;b/patchbay</string>") {
			t.Error(u.text)
		}
	})
	t.Run("another system is told so", func(t *testing.T) {
		if _, err := a.unit("plan9", dirs, command()); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a file of somebody else's stays", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "patchbay.service")
		if err := writeUnit(unit{path: path, text: "# " + installed + "\n1"}); err != nil {
			t.Fatal(err)
		}
		if err := writeUnit(unit{path: path, text: "2"}); err != nil {
			t.Fatal(err)
		}
		if err := writeUnit(unit{path: path, text: "3"}); err == nil {
			t.Error("it was overwritten")
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "2" {
			t.Errorf("%q, %v", text, err)
		}
	})
}
