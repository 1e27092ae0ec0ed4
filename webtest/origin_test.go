package webtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// attack is a hostile page. It tries to read, to change something with and without a preflight,
// with a form, in a frame, and as a stream.
const attack = `<!doctype html><title>hostile</title><h1>hostile</h1><main><h1>hostile</h1></main>
<form id="form" method="post" action="%[1]s/v1/jobs/greeter/run" target="hole" enctype="text/plain"><input name='{"once":true,"x":"' value='"}'></form>
<iframe name="hole"></iframe><iframe id="frame" src="%[1]s/plugins"></iframe>
<script>
const site = '%[1]s';
const json = { 'Content-Type': 'application/json' };
const tries = {
  read: () => fetch(site + '/v1/plugins').then((r) => r.json()),
  opaque: () => fetch(site + '/v1/plugins', { mode: 'no-cors' }).then((r) => r.json()),
  knob: () => fetch(site + '/v1/plugins/tuner/knobs/tone', { method: 'PUT', headers: json, body: '{"value":"loud"}' }).then((r) => r.json()),
  disable: () => fetch(site + '/v1/config/changes', { method: 'POST', mode: 'no-cors', body: '{"changes":[{"set":"enabled","plugin":"tuner","value":false}],"preview":false}' }).then((r) => r.json()),
  restart: () => fetch(site + '/v1/plugins/tuner/restart', { method: 'POST', mode: 'no-cors' }).then((r) => r.json()),
  run: () => fetch(site + '/v1/jobs/greeter/run', { method: 'POST', mode: 'no-cors' }).then((r) => r.json()),
  session: () => fetch(site + '/session', { method: 'POST', mode: 'no-cors', body: '{}' }).then((r) => r.json()),
  flag: () => fetch(site + '/feature/plugins/enable', { method: 'POST', mode: 'no-cors' }).then((r) => r.json()),
  events: () => new Promise((yes, no) => { const s = new EventSource(site + '/v1/events?after=0'); s.onopen = yes; s.onerror = no; }),
  script: () => new Promise((yes, no) => { const s = document.createElement('script'); s.src = site + '/openapi.json'; s.onload = yes; s.onerror = no; document.body.append(s); }),
  frame: () => { if (!document.getElementById('frame').contentDocument) throw new Error('not ours'); },
};
window.done = (async () => {
  document.getElementById('form').submit();
  const got = [];
  for (const [name, go] of Object.entries(tries)) {
    try { await go(); got.push(name); } catch {}
  }
  return got;
})();
</script>`

// A page of another origin can read nothing and change nothing, whichever requests the browser lets
// it send.
func TestOtherOrigin(t *testing.T) {
	s := newSite(t)
	before := s.plugin("tuner")
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, fmt.Sprintf(attack, s.URL))
	}))
	t.Cleanup(elsewhere.Close)
	p := newTab(t, &site{t: t, URL: elsewhere.URL}, "/")
	var got []string
	p.eval(`window.done`, &got)
	if len(got) != 0 {
		t.Errorf("these attempts succeeded: %v", got)
	}
	p.dropFaults() // the browser itself reports these requests
	if after := s.plugin("tuner"); after != before {
		t.Errorf("the plugin was %+v and is %+v", before, after)
	}
	if tone := s.knob("tone"); tone != "calm" {
		t.Errorf("the knob is %v", tone)
	}
	var runs struct{ Runs []any }
	s.call("GET", "/v1/runs", nil, &runs)
	var sessions []any
	s.call("GET", "/v1/sessions", nil, &sessions)
	var flag struct{ Enabled bool }
	s.call("GET", "/features/plugins", nil, &flag)
	if len(runs.Runs)+len(sessions) != 0 || flag.Enabled {
		t.Errorf("something was changed: %v %v %v", runs, sessions, flag)
	}
}
