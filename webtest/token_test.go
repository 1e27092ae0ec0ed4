package webtest

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// If a token is set, the browser asks for it once, as for any password. Then the page works, with
// its stream of events.
func TestToken(t *testing.T) {
	s := newSite(t, func(home string) {
		if err := os.WriteFile(filepath.Join(home, ".config/patchbay/config.toml"), []byte("[server]\ntoken = \"a-long-random-text\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if status, _ := s.do("GET", "/plugins", nil, nil); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	p := blankTab(t, s)
	var asked atomic.Int32
	chromedp.ListenTarget(p.ctx, func(event any) {
		switch e := event.(type) {
		case *fetch.EventRequestPaused:
			go chromedp.Run(p.ctx, chromedp.ActionFunc(func(ctx context.Context) error { return fetch.ContinueRequest(e.RequestID).Do(ctx) }))
		case *fetch.EventAuthRequired:
			asked.Add(1)
			answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "me", Password: "a-long-random-text"}
			go chromedp.Run(p.ctx, chromedp.ActionFunc(func(ctx context.Context) error { return fetch.ContinueWithAuth(e.RequestID, answer).Do(ctx) }))
		}
	})
	p.run(fetch.Enable().WithHandleAuthRequests(true))
	p.open("/plugins")
	p.until("the list", `document.querySelector('[data-plugin=tuner]')`)
	p.until("the stream to be open", `document.querySelector('[data-connection=open]')`)
	p.click("nav a[href='/doctor']")
	p.see("Good to know")
	if n := asked.Load(); n != 1 {
		t.Errorf("the browser asked for the password %d times", n)
	}
}
