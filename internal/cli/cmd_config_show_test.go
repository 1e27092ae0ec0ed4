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
	if err := a.printSettings([]config.Setting{s}, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.out.String(), "~/.config/patchbay/config.toml:12") {
		t.Error(c.out.String())
	}
}

// TestAValueOfASettingIsWhole: on a narrow terminal the list of all settings says how to see a
// value that is cut, and the list of one shows all of it.
func TestAValueOfASettingIsWhole(t *testing.T) {
	value := strings.Repeat("/a/long/path", 10)
	s := config.Setting{Key: "jobs.dirs", Value: value, Source: config.FromDefault}
	for whole, want := range map[bool]string{false: "`patchbay config show SETTING` shows it whole", true: "jobs.dirs  default\n  \"" + value + "\"\n"} {
		c := newConsole(t, "NO_COLOR=1")
		c.Width, c.OutTTY = 80, true
		a := &app{IO: c.IO, out: &output{w: &c.out}}
		if err := a.printSettings([]config.Setting{s}, whole); err != nil || !strings.Contains(c.out.String(), want) {
			t.Errorf("whole %t: %v\n%s", whole, err, c.out.String())
		}
	}
}
