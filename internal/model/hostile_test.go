package model

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

// These tests send answers that are not replies, by mistake or on purpose.

func TestAnswersWithoutAReplyAreFinal(t *testing.T) {
	header := func(name, value string) map[string]string { return map[string]string{name: value} }
	for rule, c := range map[string]struct {
		reply modeltest.Reply
		want  string
	}{
		"a status without a reply":    {modeltest.Reply{Status: 300, Body: "choose"}, `300 multiple choices: "choose"`},
		"not modified":                {modeltest.Reply{Status: 304}, "304 not modified"},
		"a compression not asked for": {modeltest.Reply{Status: 200, Body: "x", Header: map[string]string{"Content-Type": "text/event-stream", "Content-Encoding": "br"}}, `the encoding "br" rather than a stream`},
		"a text without events":       {modeltest.Reply{Status: 200, Body: "Welcome!\n", Header: header("Content-Type", "text/plain")}, "text/plain rather than a stream"},
		"JSON":                        {modeltest.Reply{Status: 200, Body: `{"ok":true}`}, `application/json rather than a stream: "{\"ok\":true}"`},
	} {
		t.Run(rule, func(t *testing.T) {
			eachProvider(t, func(t *testing.T, f *fixture) {
				f.play(t, c.reply)
				if e := f.fails(t, nil); e.Tries != 1 || !strings.Contains(e.Error(), c.want) {
					t.Errorf("got %v after %d tries", e, e.Tries)
				}
			})
		})
	}
}

func TestEventsThatAreNotObjectsAreRetried(t *testing.T) {
	for event, want := range map[string]string{
		"data: {nonsense\n\n": "an event that is not JSON: invalid character 'n'",
		"data: {} {}\n\n":     "an event that is not JSON: invalid character '{' after top-level value",
		"data: [1]\n\n":       "an event that is not a JSON object, it begins with '['",
		"data: \x1b]0;x\n\n":  `it begins with '\x1b'`,
	} {
		eachProvider(t, func(t *testing.T, f *fixture) {
			bad := modeltest.Reply{Raw: event}
			f.play(t, bad, bad, bad, bad, bad)
			if e := f.fails(t, nil); e.Tries != maxTries || !strings.Contains(e.Error(), want) {
				t.Errorf("%q: got %v", event, e)
			}
		})
	}
}

func TestAnErrorEventMayHaveAnyName(t *testing.T) {
	f := &fixture{provider: ProviderAnthropic, serve: modeltest.Anthropic}
	for _, name := range []string{"error", "odd", ""} {
		f.play(t, modeltest.Reply{Raw: "event: " + name + "\ndata: {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\",\"message\":\"no\"}}\n\n"})
		if e := f.fails(t, nil); !errors.Is(e, ErrAuth) || e.Status != http.StatusUnauthorized {
			t.Errorf("%q: got %v", name, e)
		}
	}
}

// TestAnUnpackedAnswerIsBounded sends a line that is small when compressed and endless when
// unpacked.
func TestAnUnpackedAnswerIsBounded(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		url, paths := pages(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.CopyN(z, &endless{text: "data: " + strings.Repeat("x", 1<<16)}, 8*maxEvent) // until the client disconnects
		})
		f.open(t, Config{BaseURL: url})
		if e := f.fails(t, nil); !strings.Contains(e.Error(), errBigEvent.Error()) || len(paths()) != 1 {
			t.Errorf("got %v, asked %d times", e, len(paths()))
		}
	})
}

func TestAReplyIsBounded(t *testing.T) {
	w := newWatch(t.Context(), DefaultIdle)
	defer w.stop()
	body := &watchedBody{ReadCloser: io.NopCloser(&endless{text: "data: 1\n\n"}), watch: w, left: 1 << 20}
	got, err := readEvents(body)
	if !errors.Is(err, errHuge) || !errors.Is(w.cause(), errHuge) || len(got) == 0 || len(got) > 1<<20/9 {
		t.Errorf("got %d events, %v, cause %v", len(got), err, w.cause())
	}
}
