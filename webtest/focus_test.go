package webtest

import (
	"strings"
	"testing"
)

// focusHidden is JavaScript that returns the element with the focus if it does not show the focus.
// An element may show the focus by its own outline, by the outline of the mark that is drawn over
// it, or by that of the box around it.
const focusHidden = `(() => {
	let e = document.activeElement;
	if (!e || e === document.body) return '';
	if (e.shadowRoot) return ''; // the editor shows a cursor
	const shown = (style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
	if (shown(getComputedStyle(e)) || shown(getComputedStyle(e, '::after')) || e.closest('.composer')) return '';
	return e.outerHTML.slice(0, 200);
})()`

// On each page, every element that Tab reaches shows that it has the focus.
func TestFocusIsVisible(t *testing.T) {
	s := newSite(t, notExecutable(t))
	session := s.begin("sign")
	turn := s.say(session, "hello").Turn
	p := newTab(t, s, "/")
	for _, path := range []string{
		"/", "/plugins", "/plugins/tuner", "/plugins/tuner?tab=settings", "/pipeline", "/trace", "/trace?tab=events", "/trace/" + session + "/" + turn,
		"/try/tool/tuner.greet", "/chat/" + session, "/python", "/jobs", "/doctor",
	} {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			p.t = t
			p.open(path)
			p.until("the page to be loaded", `!document.querySelector('main .loading')`)
			seen := 0
			for range 40 {
				p.press("\t")
				var unseen string
				p.eval(focusHidden, &unseen)
				if unseen != "" {
					t.Errorf("the focus cannot be seen at %s", unseen)
				}
				var inside bool
				p.eval(`!!document.activeElement.closest('main')`, &inside)
				if inside {
					seen++
				}
			}
			if seen < 3 {
				t.Errorf("Tab led to %d controls of the page", seen)
			}
		})
	}
	p.t = t
}
