package webtest

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The page shows the log, the notifications and the failures of a plugin as they happen.
func TestLogIsLive(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins/tuner?tab=log")
	p.see("tuner is up")
	s.greet()
	p.see("greeted Ben for the 1. time")
	p.press("/")
	p.press("tuner is")
	p.unsee("greeted Ben")
	p.click("#tab-messages")
	p.see("tuner.greeted")
}

// The page shows a crash as soon as the daemon reports it.
func TestCrashIsSeen(t *testing.T) {
	s := newSite(t)
	told := make(chan time.Time, 1)
	go s.watch("event: plugin.state", told)
	p := newTab(t, s, "/plugins/tuner")
	p.until("the stream to be open", `document.querySelector('[data-connection=open]')`)
	before := s.plugin("tuner").Pid
	p.see(fmt.Sprint(before))
	s.do("POST", "/v1/tools/tuner.crash/call", map[string]any{"arguments": map[string]any{}}, nil)
	crashed := time.Now()
	p.unsee(fmt.Sprint(before))
	seen := time.Now()
	select {
	case at := <-told:
		t.Logf("seen %s after the crash, %s after the daemon reported it", seen.Sub(crashed).Round(time.Millisecond), seen.Sub(at).Round(time.Millisecond))
		if late := seen.Sub(at); late > 10*time.Second {
			t.Errorf("seen %s after the daemon reported it", late)
		}
	case <-time.After(patience):
		t.Error("the daemon reported no change")
	}
	p.picture("crashed")
}

// The plugin's page shows a denial of the sandbox as it happens, with the capability that would
// allow it. It is also beside the trace of a call.
func TestDenialIsSeen(t *testing.T) {
	s := newSite(t)
	p := newTab(t, s, "/plugins/tuner?tab=sandbox")
	p.see("Nothing was refused")
	p.until("the stream to be open", `document.querySelector('[data-connection=open]')`)
	s.do("POST", "/v1/tools/tuner.dial/call", map[string]any{}, nil)
	p.see("connection to 192.0.2.7:443")
	p.seeIn("#tab-sandbox", "1")
	p.picture("denied")
	p.checkAxe()
	p.open("/try/tool/tuner.dial")
	p.click("=Call")
	p.seeIn("[data-step=tuner] [data-log]", "The sandbox refused: connection to 192.0.2.7:443")
}

// watch sends the time at which the first line with that beginning arrives in the stream of events.
func (s *site) watch(line string, told chan<- time.Time) {
	response, err := http.Get(s.URL + "/v1/events")
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), line) {
			told <- time.Now()
			return
		}
	}
}
