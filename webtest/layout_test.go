package webtest

import (
	"testing"
)

// The navigation leads to every page, Back leads back, and keys do both too.
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

// A tool is called with the keyboard alone: the first Tab leads to a link past the navigation, each
// control can be reached, and the control with the focus shows it.
func TestKeyboardAlone(t *testing.T) {
	p := newTab(t, newSite(t), "/try/tool/tuner.greet")
	p.until("the form", `document.querySelector('#argument-who')`)
	p.press("\t")
	p.until("the link past the navigation", `document.activeElement.getAttribute('href') === '#main'`)
	p.press("\r")
	for range 60 {
		var id string
		p.press("\t")
		p.eval(`document.activeElement.id`, &id)
		if id == "argument-who" {
			break
		}
	}
	p.until("the field to have the focus, and to show it", `(() => {
		const style = getComputedStyle(document.activeElement);
		return document.activeElement.id === 'argument-who' && (style.outlineStyle !== 'none' || style.boxShadow !== 'none');
	})()`)
	p.press("Ben\t \t\r")
	p.seeIn("[data-answer]", "HELLO, BEN")
}

// A phone shows the time of the next job whole.
func TestNextJobOnAPhone(t *testing.T) {
	p := newTab(t, newSite(t), "/")
	p.narrow()
	p.until("the next job to be shown whole", `(() => {
		const value = document.querySelector('[data-card=jobs] strong');
		return value.textContent.startsWith('in ') && value.scrollWidth <= value.clientWidth;
	})()`)
}
