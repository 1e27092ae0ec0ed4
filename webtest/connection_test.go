package webtest

import (
	"testing"
)

// While the daemon does not answer, the page says so and keeps its contents. It continues by itself
// when the daemon is back.
func TestDisconnected(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins")
	p.until("the stream to be open", `document.querySelector('[data-connection=open]')`)
	s.restart(func() {
		p.see("The daemon does not answer")
		p.see("tuner")
		p.picture("disconnected")
		p.checkAxe()
	})
	p.unsee("The daemon does not answer")
	p.until("the stream to be open again", `document.querySelector('[data-connection=open]')`)
	s.call("POST", "/v1/config/changes", map[string]any{"changes": []any{map[string]any{"set": "enabled", "plugin": "sign", "value": false}}}, nil)
	p.until("what changes to be shown", `document.querySelector('[data-plugin=sign] [data-state=disabled]')`)
}

// A browser opens at most six connections to one host, and keeps visited pages in its memory. Their
// streams must not delay the next page.
func TestManyLoads(t *testing.T) {
	p := newTab(t, newSite(t), "/plugins/tuner?tab=log")
	for range 8 {
		p.open("/plugins/tuner?tab=log")
		p.see("tuner is up")
	}
	var waited float64
	p.eval(`Math.max(...performance.getEntriesByType('resource').map((r) => r.requestStart - r.startTime))`, &waited)
	if waited > 8000 {
		t.Errorf("a request waited %.0f ms for a connection", waited)
	}
}

// The address of a missing plugin, run or job shows a page that says that it was not found.
func TestNotThere(t *testing.T) {
	p := newTab(t, newSite(t), "/plugins/missing")
	p.see("Plugin not found: missing")
	p.open("/runs/missing/daily/20260101T000000.000Z")
	p.see("Not found")
	p.open("/jobs/missing")
	p.see("Job not found")
}

// The browser keeps the theme from visit to visit, and the page sets it before anything is painted.
func TestTheme(t *testing.T) {
	p := newTab(t, newSite(t), "/")
	p.click("[data-theme-switch]")
	p.until("light", `document.documentElement.dataset.theme === 'light'`)
	p.click("[data-theme-switch]")
	p.until("dark", `getComputedStyle(document.documentElement).colorScheme === 'dark'`)
	p.open("/doctor")
	p.until("dark to be kept", `document.documentElement.dataset.theme === 'dark'`)
	p.until("the theme to be set by the first script", `document.scripts[0].src.includes('/theme-') && !document.scripts[0].defer && document.scripts[0].type !== 'module'`)
}

// On a phone the navigation is folded, and a button opens it.
func TestPhone(t *testing.T) {
	p := newTab(t, newSite(t), "/plugins")
	p.narrow()
	p.until("the navigation to be folded", `!document.querySelector("nav a[href='/jobs']").getClientRects().length`)
	p.click("button[aria-controls=pages]")
	p.save("phone-menu")
	p.click("nav a[href='/jobs']")
	p.at("/jobs")
	p.until("the navigation to fold again", `!document.querySelector("nav a[href='/doctor']").getClientRects().length`)
	p.fits()
	p.narrow()
	p.open("/trace?tab=events")
	p.see("No event has gone through plugins yet")
	p.until("the empty list to be shown whole", `document.querySelector('main .list').scrollHeight <= document.querySelector('main .list').clientHeight`)
	p.open("/plugins/tuner?tab=messages")
	p.until("the open tab to be in sight", `document.querySelector('#tab-messages')?.getBoundingClientRect().right <= 390`)
}
