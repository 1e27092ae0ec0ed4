package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// rows is JavaScript that lists the plugins in the table.
const rows = `[...document.querySelectorAll('[data-plugin]')].map((e) => e.dataset.plugin).join(' ')`

// Plugins of all dialects are listed. The list is filtered by typing and by choosing, and both are
// part of the address.
func TestPluginsAreListed(t *testing.T) {
	p := newTab(t, newSite(t, notExecutable(t)), "/plugins")
	for _, name := range []string{"tuner", "no-force", "shout", "sign", "keep", "lamp"} {
		p.until(name+" to be listed", `document.querySelector('[data-plugin="`+name+`"]')`)
	}
	p.until("what is broken to come first", `(`+rows+`).startsWith('locked')`)
	p.press("/")
	p.press("capitals")
	p.until("the filter to narrow the list", `(`+rows+`) === 'shout'`)
	p.press("\x1b")
	p.until("Escape to show all", `(`+rows+`).includes('tuner')`)
	p.choose("select[aria-label=Dialect]", "kaged")
	p.at("/plugins?dialect=kaged")
	p.until("the dialect to narrow the list", `(`+rows+`) === 'tuner'`)
	p.click("[data-plugin=tuner] a")
	p.at("/plugins/tuner")
	p.seeIn("main h1", "tuner")
	p.eval(`history.back()`, nil)
	p.at("/plugins?dialect=kaged")
	p.until("the choice to be there still", `(`+rows+`) === 'tuner'`)
}

// The switch of a plugin changes the configuration, and takes effect at once.
func TestEnableAndDisable(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins")
	p.click("[data-plugin=shout] [role=switch]")
	p.until("the list to say so", `document.querySelector('[data-plugin=shout] [data-state=disabled]')`)
	text, err := os.ReadFile(filepath.Join(s.Home, ".config/patchbay/config.toml"))
	if err != nil || !strings.Contains(string(text), "enabled = false") {
		t.Errorf("%v: %s", err, text)
	}
	p.click("[data-plugin=shout] a")
	p.seeIn("main h1", "shout")
	p.click("main .enabled [role=switch]")
	p.until("the page to say so", `document.querySelector('main [data-state=ready]')`)
	if plugin := s.plugin("shout"); plugin.State != "ready" {
		t.Errorf("it is %s", plugin.State)
	}
}

// Restart gives the plugin another process.
func TestRestart(t *testing.T) {
	s := newSite(t)
	before := s.plugin("tuner").Pid
	p := newTab(t, s, "/plugins/tuner")
	p.click("=Restart")
	p.see("tuner was restarted")
	eventually(t, "another process", func() bool { now := s.plugin("tuner"); return now.State == "ready" && now.Pid != before })
	p.until("the page to show it", fmt.Sprintf(`document.querySelector('main').innerText.includes('%d')`, s.plugin("tuner").Pid))
}

// plugin returns what the API says about a plugin.
func (s *site) plugin(name string) (one struct {
	State string
	Pid   int
}) {
	s.t.Helper()
	s.call("GET", "/v1/plugins/"+name, nil, &one)
	return one
}

// greet returns the current answer of the plugin.
func (s *site) greet() string {
	s.t.Helper()
	var answer struct{ Result string }
	s.call("POST", "/v1/tools/tuner.greet/call", map[string]any{"arguments": map[string]any{"who": "Ben"}}, &answer)
	return answer.Result
}

// Each kind of knob, used as a person would use it, changes the next answer of the plugin.
func TestKnobs(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins/tuner?tab=settings")
	said := func(what string) {
		t.Helper()
		eventually(t, "the plugin to say "+what+"; it says "+s.greet(), func() bool { return strings.Contains(s.greet(), what) })
	}
	said("Hello, Ben (volume 0.5)")

	p.drag("#knob-volume", 1)
	said("(volume 1")
	p.until("the number beside it to follow", `document.querySelector('[data-knob=volume] input[type=number]').value === '1'`)

	p.fill("[data-knob=times] input[type=number]", "2")
	p.press("\t")
	said("Hello, Ben Hello, Ben")

	p.choose("#knob-tone", "Warm")
	said("Welcome, Ben")

	p.click("#knob-polite")
	p.until("the switch to be on", `document.querySelector('#knob-polite').ariaChecked === 'true'`)
	said("please")
	p.picture("knobs-set")

	p.click("[data-knob=tone] .side button")
	said("Hello, Ben")

	for key, text := range map[string]string{"signature": "Ben", "closing": "so long", "model": "large", "folder": "/tmp/elsewhere"} {
		p.fill("#knob-"+key, text)
		p.press("\t")
		eventually(t, key+" to be set", func() bool { return s.knob(key) == text })
		p.seeIn("[data-knob="+key+"]", "Reset")
	}
}

// An invalid value is refused, with the reason beside the control, and the plugin keeps the old
// one.
func TestKnobRefused(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins/tuner?tab=settings")
	p.fill("#knob-folder", "/etc/passwd")
	p.press("\t")
	p.until("the reason", `document.querySelector('[data-knob=folder] [role=alert]')?.innerText.includes('/tmp/')`)
	p.until("the control to be marked", `document.querySelector('#knob-folder').ariaInvalid === 'true'`)
	if value := s.knob("folder"); value != "/tmp/greetings" {
		t.Errorf("the knob is %v", value)
	}
	p.fill("[data-knob=times] input[type=number]", "99")
	p.press("\t")
	p.until("the reason", `document.querySelector('[data-knob=times] [role=alert]')`)
	p.picture("knob-refused")
	p.checkAxe()
}

// knob returns the value of one of the plugin's knobs.
func (s *site) knob(key string) any {
	s.t.Helper()
	var plugin struct {
		Knobs []struct {
			Key   string
			Value any
		}
	}
	s.call("GET", "/v1/plugins/tuner", nil, &plugin)
	for _, knob := range plugin.Knobs {
		if knob.Key == key {
			return knob.Value
		}
	}
	s.t.Fatalf("no knob %s", key)
	return nil
}

// drag drags the thumb of a range from its middle to a part of its width, in small steps.
func (p *tab) drag(what string, part float64) {
	p.t.Helper()
	x, y := p.middle(what)
	var width float64
	p.eval(fmt.Sprintf(`(%s).getBoundingClientRect().width`, find(what)), &width)
	p.run(chromedp.MouseEvent(input.MousePressed, x, y, chromedp.Button("left"), chromedp.ClickCount(1)))
	for step := 1.0; step <= 8; step++ {
		p.run(chromedp.MouseEvent(input.MouseMoved, x+(part-0.5)*width*step/8, y, chromedp.Button("left")))
	}
	p.run(chromedp.MouseEvent(input.MouseReleased, x+(part-0.5)*width, y, chromedp.Button("left"), chromedp.ClickCount(1)))
}

// The config is a form. Before it is written, the change of the file is shown. An invalid value is
// refused, with the reason beside its field.
func TestConfigForm(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins/tuner?tab=settings")
	p.fill("#config-times", "40")
	p.click("=Preview the change")
	p.until("the reason beside the field", `document.querySelector('#config-times-error')`)
	p.fill("#config-times", "4")
	p.fill("#config-aliases", "Benjamin")
	p.click("=Preview the change")
	p.seeIn("dialog[open]", "+")
	p.seeIn("dialog[open]", "times")
	p.picture("config-preview")
	p.checkAxe()
	p.click("=Save and apply")
	p.see("is saved, and in force")
	eventually(t, "the plugin to work with it", func() bool { return strings.Count(s.greet(), "Ben") == 4 })
}

// A line of the log that is wider than the box is read by scrolling sideways.
func TestLongLineOfTheLog(t *testing.T) {
	s := newSite(t)
	s.call("POST", "/v1/tools/tuner.greet/call", map[string]any{"arguments": map[string]any{"who": strings.Repeat("Ben and ", 50) + "Eve"}}, nil)
	p := newTab(t, s, "/plugins/tuner?tab=log")
	p.see("and Eve")
	p.until("the end of the line to be visible", `(() => {
		const list = document.querySelector('[aria-label="Log of tuner"]');
		const line = [...list.querySelectorAll('.text')].find((e) => e.innerText.includes('and Eve'));
		list.scrollLeft = list.scrollWidth;
		return line.getBoundingClientRect().right <= list.getBoundingClientRect().right;
	})()`)
	p.fits()
}
