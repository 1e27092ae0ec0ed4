package webtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const waving = `@on_final
async def wave(ctx, text):
    return text + " (waved)"
`

// A plugin is edited, validated and saved on the page, and is called in the next turn. A syntax
// error is shown while the user types, and the code runs only after Validate or Save.
func TestPython(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/python")
	p.see("Python plugins are off")
	p.click("[role=switch]")
	p.see("Python plugins are on")
	session := s.begin("sign")
	if got := s.say(session, "hi").Text; !strings.Contains(got, "-- signed") {
		t.Fatalf("before: %q", got)
	}
	p.click("[data-python=sign]")
	p.at("/python/sign")
	p.write("Code of sign", "async def wave(ctx, text")
	p.until("the syntax to be wrong", `document.querySelector('[data-syntax=bad]')`)
	p.see("not saved")
	p.write("Code of sign", waving)
	p.until("the syntax to be right", `document.querySelector('[data-syntax=ok]')`)
	p.click("=Validate")
	p.seeIn("[data-verdict=ok]", "on_final")
	if got := s.say(session, "hi").Text; !strings.Contains(got, "-- signed") {
		t.Fatalf("the code was only validated, but it changed the answer: %q", got)
	}
	p.checkAxe()
	p.picture("python-editor")
	p.click("=Save")
	p.seeIn("[data-verdict=ok]", "It takes part from the next turn")
	p.until("nothing unsaved", `!document.querySelector('[data-unsaved]')`)
	if got := s.say(session, "hi").Text; !strings.Contains(got, "(waved)") || strings.Contains(got, "-- signed") {
		t.Fatalf("after: %q", got)
	}
}

// A draft survives a visit to another page. Saving a new plugin makes its file, and deleting it
// removes the file.
func TestPythonDrafts(t *testing.T) {
	s := newSite(t)
	s.call("POST", "/feature/plugins/enable", nil, nil)
	p := newTab(t, s, "/python")
	p.click("=New plugin")
	p.press("not a name!")
	p.see("A name has letters")
	p.fill("dialog input", "fresh")
	p.click("=Begin")
	p.at("/python/fresh")
	draft := `document.querySelector('[data-editor="Code of fresh"]')?.shadowRoot?.textContent.includes('-- fresh')`
	p.until("a plugin to begin with", draft)
	p.click("nav a[href='/plugins']")
	p.seeIn("main h1", "Plugins")
	p.click("nav a[href='/python']")
	p.seeIn("[data-python=fresh]", "not saved yet")
	p.click("[data-python=fresh]")
	p.until("the draft to be there", draft)
	p.click("=Save")
	p.seeIn("[data-verdict=ok]", "Saved to")
	file := filepath.Join(s.Home, ".agent", "plugins", "fresh.py")
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	p.click("=Reload")
	p.seeIn("[data-verdict=ok]", "Loaded again")
	p.click("=Delete")
	p.see("Delete fresh?")
	p.click("dialog[open] button.danger")
	p.at("/python")
	p.until("it to be gone from the list", `!document.querySelector('[data-python=fresh]')`)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatalf("its file: %v", err)
	}
}
