package webtest

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// broken makes every request for data fail, and slow leaves every request unanswered. The page
// itself is loaded as always.
const (
	broken = `window.fetch = () => Promise.resolve(new Response('{"detail":"the disk is full"}', { status: 500 }))`
	slow   = `window.fetch = () => new Promise(() => {})`
)

// views lists the addresses of all pages.
var views = []string{
	"/", "/plugins", "/plugins/tuner", "/pipeline", "/trace", "/trace?tab=events", "/trace/ses_x/turn_x", "/trace/event/1", "/try",
	"/try/tool/tuner.greet", "/try/point/turn.input", "/chat", "/chat/ses_x", "/python", "/python/sign", "/jobs", "/jobs/greeter",
	"/runs/greeter/often/20260101T000000.000Z", "/doctor",
}

// runFirst makes a script run before the scripts of each page that is opened from now on.
func (p *tab) runFirst(script string) {
	p.t.Helper()
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
		return err
	}))
}

// A page whose data cannot be read shows the daemon's error and a button to try again. No page
// keeps loading, and none says that there is no data.
func TestEveryPageFails(t *testing.T) {
	p := newTab(t, newSite(t), "/")
	p.runFirst(broken)
	for _, path := range views {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			p.t = t
			p.open(path)
			p.seeIn("main [role=alert]", "the disk is full")
			p.until("a button to try again", find("=Try again"))
			p.until("nothing to load any more", `!document.querySelector('main .loading') && !document.querySelector('main').innerText.includes('…\n')`)
			p.until("no word that there is nothing", `!/\b(None|No \w+) yet\b/.test(document.querySelector('main').innerText)`)
			p.picture("failed" + strings.NewReplacer("/", "-", "?tab=", "-").Replace(path))
			p.checkAxe()
		})
	}
	p.t = t
}

// A page whose data is slow shows that it is loading.
func TestEveryPageLoads(t *testing.T) {
	p := newTab(t, newSite(t), "/")
	p.runFirst(slow)
	for _, path := range views {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			p.t = t
			p.open(path)
			p.until("the page to show that it loads", `[...document.querySelectorAll('main [role=status]')].some((e) => e.innerText.includes('Loading'))`)
			p.until("nothing to be wrong", `!document.querySelector('main [role=alert]')`)
			p.picture("loading" + strings.NewReplacer("/", "-", "?tab=", "-").Replace(path))
		})
	}
	p.t = t
}
