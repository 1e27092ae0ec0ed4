package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long the page may take to show something. It is long, because the machine may be
// busy.
const patience = 45 * time.Second

var (
	browserOnce  sync.Once
	browserTab   context.Context // the first tab, from which the others are made
	browserErr   error
	closeBrowser = func() {}
)

// startBrowser starts one Chromium for all tests.
func startBrowser() {
	dir, err := os.MkdirTemp("", "webtest-chromium")
	if err != nil {
		browserErr = err
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(dir), chromedp.WindowSize(1280, 860),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	tab, cancel := chromedp.NewContext(allocator)
	closeBrowser = func() {
		chromedp.Cancel(tab)
		cancel()
		stop()
		os.RemoveAll(dir)
	}
	browserTab, browserErr = tab, chromedp.Run(tab)
}

// A tab is one page of the browser. Its methods end the test if something does not happen in time.
type tab struct {
	t    testing.TB
	ctx  context.Context
	site *site

	mu     sync.Mutex
	faults []string // exceptions in the page, and violations of the Content-Security-Policy
}

// newTab opens an address of the site. If the page has faults, the test fails at its end.
func newTab(t testing.TB, s *site, path string) *tab {
	t.Helper()
	p := blankTab(t, s)
	p.open(path)
	return p
}

// blankTab opens an empty tab.
func blankTab(t testing.TB, s *site) *tab {
	t.Helper()
	if !haveBrowser() {
		t.Skip("no Chromium here, so the page is not tested; on Debian install the package chromium")
	}
	browserOnce.Do(startBrowser)
	if browserErr != nil {
		t.Fatalf("Chromium does not start: %v", browserErr)
	}
	ctx, cancel := chromedp.NewContext(browserTab) // each site has its own origin, and so its own storage
	p := &tab{t: t, ctx: ctx, site: s}
	t.Cleanup(func() {
		if t.Failed() {
			p.save("failed-" + t.Name())
		}
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, fault := range p.faults {
			t.Errorf("a fault of the page: %s", fault)
		}
	})
	chromedp.ListenTarget(ctx, p.collectFaults)
	if err := chromedp.Run(ctx); err != nil { // without a deadline, which would end the tab
		t.Fatal(err)
	}
	p.run(page.BringToFront(), log.Enable(), emulation.SetDeviceMetricsOverride(1280, 860, 1, false))
	return p
}

// dropFaults drops the faults of the page so far.
func (p *tab) dropFaults() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

func haveBrowser() bool {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// collectFaults collects the faults of the page. A request that the daemon refused is not a fault:
// the page shows the refusal.
func (p *tab) collectFaults(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Source == log.SourceSecurity || strings.Contains(e.Entry.Text, "Content Security Policy") {
			p.faults = append(p.faults, e.Entry.Text)
		}
	}
}

// run runs browser actions, and ends the test if one fails or takes too long.
func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	if err := p.try(actions...); err != nil {
		p.t.Fatalf("%v\nthe page shows:\n%s", err, p.text())
	}
}

func (p *tab) try(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// open goes to an address and waits until the page is loaded.
func (p *tab) open(path string) {
	p.t.Helper()
	p.run(chromedp.Navigate(p.site.URL+path), chromedp.WaitVisible("main h1", chromedp.ByQuery))
}

// eval runs JavaScript and decodes its result. It waits for a promise.
func (p *tab) eval(script string, result any) {
	p.t.Helper()
	p.run(chromedp.Evaluate(script, result, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
}

// text returns the visible text of the page.
func (p *tab) text() string {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	var text string
	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.body.innerText`, &text)); err != nil {
		return err.Error()
	}
	return text
}

// find returns JavaScript that finds an element by a CSS selector. After "=" it finds a visible
// button, link, tab, label, heading or summary that has exactly this text or aria-label.
func find(what string) string {
	quoted, _ := json.Marshal(what)
	if !strings.HasPrefix(what, "=") {
		return fmt.Sprintf(`document.querySelector(%s)`, quoted)
	}
	quoted, _ = json.Marshal(what[1:])
	return fmt.Sprintf(`[...document.querySelectorAll('button, a, [role=tab], label, h1, h2, h3, summary')].find((e) => {
		const words = (e.innerText || e.textContent).trim();
		return (words === %[1]s || e.getAttribute('aria-label') === %[1]s) && e.getClientRects().length;
	})`, quoted)
}

// until waits until a JavaScript expression is true.
func (p *tab) until(what, expression string) {
	p.t.Helper()
	began := time.Now()
	for deadline := began.Add(patience); ; time.Sleep(30 * time.Millisecond) {
		var yes bool
		err := p.try(chromedp.Evaluate(`!!(`+expression+`)`, &yes))
		if err == nil && yes {
			if took := time.Since(began); took > 3*time.Second {
				p.t.Logf("%s took %s", what, took.Round(100*time.Millisecond))
			}
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("timed out waiting: %s (%s) %v\nthe page shows:\n%s", what, expression, err, p.text())
		}
	}
}

// see waits until the page shows a text.
func (p *tab) see(text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.until("to see "+text, fmt.Sprintf(`document.body.innerText.includes(%s)`, quoted))
}

// seeIn waits until an element shows a text.
func (p *tab) seeIn(selector, text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.until("to see "+text+" in "+selector, fmt.Sprintf(`(%s)?.innerText.includes(%s)`, find(selector), quoted))
}

// unsee waits until the page no longer shows a text.
func (p *tab) unsee(text string) {
	p.t.Helper()
	quoted, _ := json.Marshal(text)
	p.until("not to see "+text, fmt.Sprintf(`!document.body.innerText.includes(%s)`, quoted))
}

// click clicks in the middle of an element, when it exists and is enabled.
func (p *tab) click(what string) {
	p.t.Helper()
	p.until("to click "+what, fmt.Sprintf(`(() => { const e = %s; return e && !e.disabled && e.getClientRects().length; })()`, find(what)))
	x, y := p.middle(what)
	p.run(chromedp.MouseClickXY(x, y))
}

// middle scrolls to an element, and returns the position of its middle. It waits until the element
// is at the same place in two frames: elements that were just drawn above it may still move it.
func (p *tab) middle(what string) (x, y float64) {
	p.t.Helper()
	var at []float64
	script := fmt.Sprintf(`(async () => { const e = %s; e.scrollIntoView({ block: 'center', behavior: 'instant' });
		for (let last, frame = 0; ; frame++) {
			await new Promise(requestAnimationFrame);
			const r = e.getBoundingClientRect(), now = [r.x + r.width / 2, r.y + r.height / 2];
			if (frame > 60 || String(now) === last) return now;
			last = String(now);
		} })()`, find(what))
	p.eval(script, &at)
	return at[0], at[1]
}

// fill replaces the text of a field by typing.
func (p *tab) fill(what, text string) {
	p.t.Helper()
	p.click(what)
	p.eval(fmt.Sprintf(`(%s).select?.()`, find(what)), nil)
	if text == "" {
		p.press("\b")
		return
	}
	p.press(text)
}

// press types keys into the element with the focus. Keys without a letter have the names of package
// kb. A letter or Enter is one event that includes its text, so that a page which handles the key
// also suppresses the text.
func (p *tab) press(keys string) {
	p.t.Helper()
	for _, key := range keys {
		if key == '\r' {
			down := input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13).WithText("\r")
			p.run(down, input.DispatchKeyEvent(input.KeyUp).WithKey("Enter").WithCode("Enter").WithWindowsVirtualKeyCode(13))
			continue
		}
		if key < ' ' || key > '~' {
			p.run(chromedp.KeyEvent(string(key)))
			continue
		}
		p.run(input.DispatchKeyEvent(input.KeyDown).WithKey(string(key)).WithText(string(key)), input.DispatchKeyEvent(input.KeyUp).WithKey(string(key)))
	}
}

// choose sets a select by the label of the option.
func (p *tab) choose(selector, label string) {
	p.t.Helper()
	quoted, _ := json.Marshal(label)
	p.until("to choose "+label, fmt.Sprintf(`[...((%s)?.options ?? [])].some((o) => o.text.trim() === %s)`, find(selector), quoted))
	p.eval(fmt.Sprintf(`(() => { const s = %s; s.value = [...s.options].find((o) => o.text.trim() === %s).value;
		s.dispatchEvent(new Event('input', { bubbles: true })); s.dispatchEvent(new Event('change', { bubbles: true })); })()`, find(selector), quoted), nil)
}

// at waits until the address of the page is this path, its query included.
func (p *tab) at(path string) {
	p.t.Helper()
	quoted, _ := json.Marshal(path)
	p.until("to be at "+path, fmt.Sprintf(`location.pathname + location.search === %s`, quoted))
}

// picture saves pictures of the page: light, dark, and as wide as a phone.
func (p *tab) picture(name string) {
	p.t.Helper()
	if os.Getenv("WEBTEST_SCREENSHOTS") == "" {
		return
	}
	for _, scheme := range []string{"light", "dark"} {
		p.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		p.save(name + "-" + scheme)
	}
	p.run(emulation.SetEmulatedMedia().WithFeatures(nil))
	p.narrow()
	p.save(name + "-phone")
	p.wide()
}

// wide makes the page as wide as it was at first.
func (p *tab) wide() {
	p.t.Helper()
	p.run(emulation.SetDeviceMetricsOverride(1280, 860, 1, false))
}

// narrow makes the page as wide as a phone.
func (p *tab) narrow() {
	p.t.Helper()
	p.run(emulation.SetDeviceMetricsOverride(390, 844, 1, true))
}

// fits checks that the page on a phone need not be scrolled sideways.
func (p *tab) fits() {
	p.t.Helper()
	p.narrow()
	p.until("every element to fit on a phone", `document.documentElement.scrollWidth <= 390`)
	p.wide()
}

// save writes a picture of the screen to a PNG file.
func (p *tab) save(name string) {
	dir := os.Getenv("WEBTEST_SCREENSHOTS")
	if dir == "" {
		return
	}
	var data []byte
	shot := chromedp.ActionFunc(func(ctx context.Context) (err error) {
		data, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatPng).Do(ctx)
		return err
	})
	drawn := chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 120))))`, nil,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) })
	if err := p.try(drawn, shot); err != nil {
		p.t.Logf("no picture %s: %v", name, err)
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	name = strings.ReplaceAll(name, "/", "-")
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
		p.t.Fatal(err)
	}
}
