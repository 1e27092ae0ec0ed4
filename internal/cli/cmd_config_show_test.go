package cli

import (
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/config"
)

// TestTheOriginOfASettingIsWhole: a narrow terminal shows the file and the line of a setting.
func TestTheOriginOfASettingIsWhole(t *testing.T) {
	home := "/home/" + strings.Repeat("ada", 20)
	c := newConsole(t, "NO_COLOR=1", "HOME="+home)
	c.Width, c.OutTTY = 80, true
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	s := config.Setting{Key: "server.listen", Value: strings.Repeat("long ", 20), Source: config.FromUser, File: home + "/.config/patchbay/config.toml", Line: 12}
	if err := a.printSettings([]config.Setting{s}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.out.String(), "~/.config/patchbay/config.toml:12") {
		t.Error(c.out.String())
	}
}
