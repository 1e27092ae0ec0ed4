package webtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pluginsAt lists the plugins at a point, in the order in which the daemon calls them.
func (s *site) pluginsAt(point string) (names []string) {
	s.t.Helper()
	var pipeline struct {
		Points []struct {
			Point   string
			Plugins []struct{ Plugin string }
		}
	}
	s.call("GET", "/v1/pipeline", nil, &pipeline)
	for _, one := range pipeline.Points {
		for _, plugin := range one.Plugins {
			if one.Point == point {
				names = append(names, plugin.Plugin)
			}
		}
	}
	return names
}

// config returns the text of the configuration file; "" if there is no file.
func (s *site) config() string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Home, ".config/patchbay/config.toml"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(text)
}

// fired fires an event with a text, and returns the text afterwards.
func (s *site) fired(point, text string) string {
	s.t.Helper()
	var outcome struct{ Payload struct{ Text string } }
	s.call("POST", "/v1/fire", map[string]any{"point": point, "data": map[string]any{"text": text}}, &outcome)
	return outcome.Payload.Text
}

// dragTo drags one element with the mouse and drops it on another, that many pixels below its
// middle.
func (p *tab) dragTo(from, to string, below float64) {
	p.t.Helper()
	p.until("to drag "+from, find(from))
	p.until("to drop at "+to, find(to))
	x, y := p.middle(from)
	p.run(chromedp.MouseEvent(input.MousePressed, x, y, chromedp.Button("left"), chromedp.ClickCount(1)))
	p.run(chromedp.MouseEvent(input.MouseMoved, x+9, y+9, chromedp.Button("left"))) // now the page marks where it can be dropped
	var at []float64
	p.eval(`(() => { const r = (`+find(to)+`).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, &at)
	for step := 1.0; step <= 6; step++ {
		p.run(chromedp.MouseEvent(input.MouseMoved, x+(at[0]-x)*step/6, y+(at[1]+below-y)*step/6, chromedp.Button("left")))
	}
	p.save("pipeline-drag") // without changing the width, which would move the element below the mouse
	p.run(chromedp.MouseEvent(input.MouseReleased, at[0], at[1]+below, chromedp.Button("left"), chromedp.ClickCount(1)))
}

// saveChange opens the preview of the change, and confirms it.
func (p *tab) saveChange() {
	p.t.Helper()
	p.click("=Preview the change")
	p.seeIn("dialog[open]", "+")
	p.click("=Save and apply")
	p.see("saved, and in force")
	p.until("nothing to be left to save", `!document.querySelector('[aria-label="Not saved yet"]')`)
}

// A plugin that is dragged, or moved with keys, is called in its new order. Nothing is written
// before the user has seen the change and confirmed it.
func TestReorder(t *testing.T) {
	s := newSite(t)
	before := s.config()
	p := newTab(t, s, "/pipeline")
	p.picture("pipeline")
	const row = `[data-point="turn.final"] [data-ref=`
	p.dragTo(row+`sign] .grip`, row+`keep_secrets]`, -9)
	p.see("sign: priority 500 → 490")
	p.picture("pipeline-draft")
	if text := s.config(); text != before {
		t.Errorf("it was written before it was confirmed: %s", text)
	}
	p.click("=Preview the change")
	p.seeIn("dialog[open]", "+priority = 490")
	p.picture("pipeline-preview")
	p.checkAxe()
	p.press("\x1b")
	p.saveChange()
	if text, now := s.config(), s.pluginsAt("turn.final"); !strings.Contains(text, "priority = 490") || !slices.Equal(now, []string{"sign", "keep_secrets"}) {
		t.Errorf("%v with %s", now, text)
	}

	p.eval(`(`+find(row+`sign] .grip`)+`).focus()`, nil)
	p.press(kb.ArrowDown)
	p.see("sign: priority 490 → 510")
	p.until("the focus to stay with it", `document.activeElement.closest('[data-ref=sign]')`)
	p.saveChange()
	if text, now := s.config(), s.pluginsAt("turn.final"); !strings.Contains(text, "priority = 510") || !slices.Equal(now, []string{"keep_secrets", "sign"}) {
		t.Errorf("%v with %s", now, text)
	}
}

// A hook that is dragged to a point is called at the next event there, and after it is disconnected
// no longer.
func TestConnect(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/pipeline")
	p.dragTo(`[data-connect="sign on_final"]`, `[data-point="model.reply"]`, 0)
	p.see("connect sign on_final to model.reply")
	p.saveChange()
	if text := s.fired("model.reply", "yes"); !strings.Contains(text, "-- signed") {
		t.Errorf("it was not called: %q", text)
	}
	p.click("=Disconnect sign from model.reply")
	p.see("disconnect sign on_final from model.reply")
	p.click("=Preview the change")
	p.click("=Save and apply")
	eventually(t, "it to be called no longer", func() bool { return s.fired("model.reply", "yes") == "yes" })
}

// A hook is connected without a mouse: a point has a list of hooks to choose from.
func TestConnectByKeyboard(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/pipeline")
	p.until("the button of the point", find("=Connect a hook to model.reply"))
	p.eval(`(`+find("=Connect a hook to model.reply")+`).focus()`, nil)
	p.press("\r")
	p.seeIn("dialog[open]", "keep_secrets")
	p.picture("pipeline-choose")
	p.eval(`[...document.querySelectorAll('dialog[open] li button')].find((e) => e.innerText.includes('sign')).focus()`, nil)
	p.press("\r")
	p.see("connect sign on_final to model.reply")
	p.saveChange()
	if now := s.pluginsAt("model.reply"); !slices.Equal(now, []string{"sign"}) {
		t.Errorf("at the point: %v", now)
	}
}

// If the file has changed since the preview, nothing is overwritten, and the preview is shown
// again.
func TestFileChangedMeanwhile(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/pipeline")
	p.click(`[data-point="turn.final"] [data-ref=sign] .acts button`)
	p.click("=Preview the change")
	p.seeIn("dialog[open]", "+priority = 490")
	const line = "# by another hand\n"
	s.write(".config/patchbay/config.toml", line)
	p.click("=Save and apply")
	p.seeIn("dialog[open]", "The file has changed since you looked")
	p.seeIn("dialog[open]", "# by another hand")
	if text := s.config(); text != line {
		t.Errorf("overwritten: %s", text)
	}
	p.click("=Save and apply")
	p.see("saved, and in force")
	if text := s.config(); !strings.HasPrefix(text, line) || !strings.Contains(text, "priority = 490") {
		t.Errorf("%s", text)
	}
}
