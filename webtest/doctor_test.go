package webtest

import (
	"os"
	"path/filepath"
	"testing"
)

// The doctor says what is wrong, and its button mends it: the plugin runs.
func TestDoctorMends(t *testing.T) {
	s := newSite(t, lock(t))
	p := newTab(t, s, "/doctor")
	p.see("1 thing to mend")
	p.seeIn("[data-finding=locked]", "chmod +x")
	p.click("=Make it executable")
	p.see("All is well")
	p.unsee("1 thing to mend")
	info, err := os.Stat(filepath.Join(s.Home, ".local/share/mine/plugins/locked/mine-plugin-locked"))
	if err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%v %v", info, err)
	}
	if got := s.plugin("locked").State; got != "ready" {
		t.Errorf("it is %s", got)
	}
	p.press("/")
	p.press("nothing says this")
	p.see("No finding fits the filter")
}
