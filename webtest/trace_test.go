package webtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A new turn appears, opens as a waterfall, and leads to the step of one plugin, with what the
// plugin was sent, what it answered and what that changed.
func TestTraceOfATurn(t *testing.T) {
	s := newSite(t, scripted(t, talk))
	p := newTab(t, s, "/trace")
	p.see("No turn yet")
	session := s.begin("sign")
	turn := s.say(session, "look around").Turn
	p.seeIn("[data-turn]", "LOOK AROUND") // as plugins left it
	p.picture("trace-turns")
	p.click("[data-turn] a")
	p.at("/trace/" + session + "/" + turn)
	p.seeIn("main h1", "look around")
	p.seeIn("[data-plugin=shout]", "post_user_input")
	p.checkAxe()
	p.picture("trace-turn")
	p.click("[data-plugin=shout]")
	p.seeIn("main h1", "turn.input")
	p.seeIn("[data-step=shout]", "LOOK AROUND")
	p.seeIn("[data-step=shout]", "Sent")
	p.checkAxe()
}

// Filters are part of the address, so that a filtered view can be shared and reloaded. New events
// are filtered too.
func TestTraceFilters(t *testing.T) {
	s := newSite(t)
	session := s.begin("sign")
	s.say(session, "first")
	p := newTab(t, s, "/trace?tab=events")
	p.until("all events", `document.querySelectorAll('[data-event]').length > 2`)
	p.choose("[data-pick=plugin]", "sign")
	p.at("/trace?tab=events&plugin=sign")
	p.until("the one event of sign", `document.querySelectorAll('[data-event]').length === 1`)
	p.open("/trace?tab=events&plugin=sign")
	p.until("the filter to last", `document.querySelectorAll('[data-event]').length === 1 && document.querySelector('[data-pick=plugin]').value === 'sign'`)
	s.say(session, "second")
	p.until("the new one, filtered", `document.querySelectorAll('[data-event]').length === 2`)
	p.checkAxe()
	p.picture("trace-filtered")
	s.hook("claude", "UserPromptSubmit", map[string]any{"session_id": "s", "cwd": s.Home, "prompt": "from elsewhere"})
	p.click("=Clear")
	p.choose("[data-pick=host]", "claude")
	p.until("the agent's events alone", `document.querySelectorAll('[data-event]').length >= 2 && [...document.querySelectorAll('[data-event]')].every((e) => e.innerText.includes('claude'))`)
}

// Events that match the filters may be older than those the page has read. A button searches for
// them.
func TestTraceFiltersReachBack(t *testing.T) {
	s := newSite(t)
	s.hook("claude", "UserPromptSubmit", map[string]any{"session_id": "s", "cwd": s.Home, "prompt": "from elsewhere"})
	session := s.begin()
	for i := range 51 { // one more than a page of turns
		s.say(session, fmt.Sprintf("message %d", i))
	}
	p := newTab(t, s, "/trace?host=claude")
	p.see("No turn matches these filters")
	p.click("=Older turns")
	p.until("the old turn", `document.querySelectorAll('[data-turn]').length === 1`)
	p.open("/trace?tab=events&q=elsewhere")
	p.see("Nothing matches these filters")
	p.click("=Search older events")
	p.seeIn("[data-event]", "claude")
	p.picture("trace-words")
}

// The payload of a step is edited and sent again. The new result is shown beside the old one.
func TestTraceSentAgain(t *testing.T) {
	s := newSite(t)
	s.say(s.begin(), "hello")
	p := newTab(t, s, "/trace?tab=events&point=turn.input")
	p.click("[data-event] a")
	p.seeIn("[data-step=shout]", "HELLO")
	p.write("Payload", `{"message": "good evening"}`)
	p.click("=Send")
	p.seeIn("[aria-label=Now]", "GOOD EVENING")
	p.seeIn("[aria-label=Then]", "HELLO")
	p.seeIn("[data-outcome]", "GOOD EVENING")
	p.picture("trace-sent-again")
	p.write("Payload", `{"message": `)
	p.until("half a payload not to be sent", `[...document.querySelectorAll('button')].find((b) => b.innerText === 'Send').disabled`)
}

// With ten thousand events the page stays fast, because it draws only the visible ones. The events
// are invented, because the test is about the page.
func TestTraceOfTenThousandEvents(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/trace")
	p.run(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(manyEvents).Do(ctx)
		return err
	}))
	p.open("/trace?tab=events")
	p.until("the first page", `document.querySelector('[data-count]')?.dataset.count >= 100`)
	p.until("all of them, page by page, while scrolling", `(() => {
		const list = document.querySelector('[aria-label=Events]');
		list.scrollTop = list.scrollHeight;
		return document.querySelector('[data-count="10000"]');
	})()`)
	var took float64
	p.eval(`new Promise((done) => {
		const list = document.querySelector('[aria-label=Events]');
		let step = 0, worst = 0, last = performance.now();
		const frame = (now) => {
			worst = Math.max(worst, now - last);
			last = now;
			list.scrollTop = (list.scrollHeight / 40) * ++step;
			step < 40 ? requestAnimationFrame(frame) : done(worst);
		};
		requestAnimationFrame(frame);
	})`, &took)
	t.Logf("the slowest of 40 frames while scrolling: %.0f ms", took)
	p.until("few rows to be drawn", `document.querySelectorAll('[data-event]').length < 80`)
	p.fill("[data-filter]", "number 4242")
	p.until("one to be found among them", `document.querySelectorAll('[data-event]').length === 1`)
}

// manyEvents answers the page's request for traces with ten thousand of them.
const manyEvents = `(() => {
	const real = window.fetch;
	const one = (n) => ({ id: n, type: 'point', session_id: 'ses_x', turn: 'turn_x', time: '2026-01-01T00:00:00Z', outcome: {
		point: 'turn.input', verdict: 'continue', reason: '', payload: { message: 'number ' + n + ' of many' },
		steps: [{ plugin: 'shout', dialect: 'scaffold', hook: 'post_user_input', verdict: 'continue', changed: true, duration_us: 100, error: null }] } });
	window.fetch = (path, options) => {
		if (!String(path).startsWith('/v1/traces?')) return real(path, options);
		const query = new URL(path, location.href).searchParams;
		const from = Number(query.get('after') ?? 10000), limit = 1000; // more than requested, so that there are fewer requests
		const traces = Array.from({ length: Math.min(limit, from) }, (_, i) => one(from - i));
		return Promise.resolve(new Response(JSON.stringify({ traces, next: from > limit ? String(from - limit) : undefined })));
	};
})()`
