package webtest

import (
	"testing"
)

// The navigation leads to every page, Back leads back, and keys do the same.
func TestNavigation(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/")
	p.click("nav a[href='/plugins']")
	p.at("/plugins")
	p.seeIn("main h1", "Plugins")
	p.press("gj")
	p.at("/jobs")
	p.eval(`history.back()`, nil)
	p.at("/plugins")
	p.press("?")
	p.see("Filter what is shown")
	p.press("\x1b")
	p.until("the list of keys to close", `!document.querySelector('dialog[open]')`)
	p.open("/no/such/page")
	p.see("There is no such page")
}
