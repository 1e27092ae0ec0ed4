package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/feature"
	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
	"github.com/patchbay-dev/patchbay/internal/session"
)

// echoTurns answers every turn immediately.
type echoTurns struct{ *fakeTurns }

func (f echoTurns) Run(ctx context.Context, id, text string, _ func(string, json.RawMessage)) (json.RawMessage, error) {
	if _, err := f.sessions.Get(ctx, id); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"text": text})
}

// FuzzBody sends any body to any route: the answer is the route's or a problem, JSON in either
// case, and never an internal error.
func FuzzBody(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range [][2]string{
		{"/plugin/save", `{"name":"x","content":"@on_begin"}`}, {"/plugin/validate", `{"name":"x","content":"("}`}, {"/plugin/save", `{"name":"../x","content":""}`},
		{"/plugin/save", `[`}, {"/plugin/save", `null`}, {"/plugin/save", "{\"name\":\"\xff\"}"}, {"/plugin/mine/reload", ``}, {"/plugin/%2e%2e/reload", `{}`},
		{"/session", `{"plugins":["mine"],"working_dir":"/"}`}, {"/session", ``}, {"/session/ses_a/message", `{"text":"hi"}`}, {"/session/ses_a/message", `{"text":7}`},
		{"/v1/fire", `{"point":"turn.input","data":{"message":"x"}}`}, {"/v1/fire", `{"point":"no.such"}`}, {"/v1/tools/git.log/call", `{"arguments":{}}`}, {"/feature/plugins/enable", ``},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	fake := newFake()
	backend := fake.backend()
	backend.Turns = echoTurns{fake.turns}
	h := New(Options{Backend: backend})
	h.(*front).gate.caller = func(_, _ netip.AddrPort) error { return nil } // there is no connection
	local := context.WithValue(context.Background(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		fake.features.on = map[string]bool{feature.Plugins: true} // each input begins with the same state
		fake.sources.known = map[string]Source{"mine": {Name: "mine", Metadata: json.RawMessage(`{}`)}}
		fake.sessions.known = map[string]session.Session{"ses_a": {ID: "ses_a"}}
		r, err := http.NewRequestWithContext(local, http.MethodPost, "http://127.0.0.1:8000/"+strings.TrimPrefix(path, "/"), bytes.NewReader(body))
		if err != nil {
			return // net/http refuses such a path
		}
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer := w.Body.Bytes()
		isJSON := json.Valid(answer) && utf8.Valid(answer)
		if w.Code >= 500 || w.Header().Get("Content-Type") == "application/json" && len(answer) > 0 && !isJSON {
			t.Errorf("%q %q is answered with %d %q", path, body, w.Code, answer)
		}
	})
}

// FuzzAuthorization: only requests with the token are authorized.
func FuzzAuthorization(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"", "Bearer the-token", "bearer  the-token ", "Basic dXNlcjp0aGUtdG9rZW4=", "Basic OnRoZS10b2tlbg", "Bearer", "the-token", "Basic dGhlLXRva2Vu", "Bearer the-token2"} {
		f.Add(seed)
	}
	g := newGate(config.NewSecret("the-token"), nil, slog.New(slog.DiscardHandler))
	f.Fuzz(func(t *testing.T, header string) {
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		if !g.authorized(r) {
			return
		}
		_, password, basic := r.BasicAuth()
		_, bearer, _ := strings.Cut(header, " ")
		if strings.TrimSpace(bearer) != "the-token" && (!basic || strings.TrimSpace(password) != "the-token") {
			t.Errorf("%q was accepted", header)
		}
	})
}

// FuzzPlace: for any event id, a stream begins within the events that exist, or the client gets a
// short error.
func FuzzPlace(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{"", "0", "7", "18446744073709551615", "18446744073709551616", "-1", "x", " 7", "\x1b[2J"} {
		f.Add(seed, seed)
	}
	a := &api{Backend: newFake().backend()}
	f.Fuzz(func(t *testing.T, last, after string) {
		_, top, err := a.Events.Range(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p, err := a.place(t.Context(), &follow{LastEventID: last, After: after})
		if err != nil {
			if refused, ok := errors.AsType[*problem](err); !ok || len(refused.Error()) > 1000 || strings.ContainsRune(refused.Error(), '\x1b') {
				t.Errorf("%q %q: %q", last, after, err)
			}
			return
		}
		if p.filter.After > top {
			t.Errorf("%q %q begins after %d of %d", last, after, p.filter.After, top)
		}
	})
}
