package notify

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// FuzzService lets a service answer with any text. A good status without a refusal is a success.
// For any other answer, the error has the service's text, short, printable and without secrets.
func FuzzService(tf *testing.F) {
	f := variants.Of(tf)
	for _, body := range []string{
		``, `ok`, `{"ok":true}`, `{"ok":false,"description":"no"}`, `{"status":0,"errors":["a","b"]}`, `{"status":1}`, `{"error":"e"}`, `{"parameters":{"retry_after":99999999999}}`,
		`{"parameters":{"retry_after":-1}}`, `{"description":"token s3cret-s3cret leaked"}`, "\x1b[2J\xff", `{"ok":"maybe"}`,
	} {
		f.Add(200, "", []byte(body))
		f.Add(429, "17", []byte(body))
	}
	f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", []byte(`{}`))
	const secret = "s3cret-s3cret"
	r := &remote{driver: "ntfy", secrets: newScrubber([]string{secret}), log: slog.New(slog.DiscardHandler)}
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		resp := &http.Response{StatusCode: 200 + max(status, 0)%400, Header: http.Header{"Retry-After": {after}}}
		e := r.answerError(resp, body)
		if e == nil {
			if _, refused := answerText(body); refused || resp.StatusCode >= 300 {
				t.Errorf("%d %q counts as a success", resp.StatusCode, body)
			}
			return
		}
		if text := e.Error(); strings.Contains(text, secret) || len(text) > 4<<10 || !utf8.ValidString(text) || strings.ContainsRune(text, '\x1b') {
			t.Errorf("%d %q: %q", resp.StatusCode, body, text)
		}
		if e.After < 0 {
			t.Errorf("%q %q: wait %s", after, body, e.After)
		}
	})
}

// FuzzMark decodes any bytes as a mark. The mark is limited in size, and events can always be added
// to it.
func FuzzMark(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{``, `{}`, `{"last":"failing","events":{"stale":{"at":"2026-01-02T03:04:05Z","suppressed":3}}}`, `{"events":null}`, `{"events":{"":{"suppressed":-9}}}`, `[]`, `{"last":7}`} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := readMark(data)
		if m.Events == nil || len(m.Events) > maxEvents {
			t.Fatalf("%q: %+v", data, m)
		}
		for _, event := range []string{AttemptFailed, GivenUp, Recovered, Stale} {
			m.decide(LimitRequest{Event: event, Every: time.Hour}, now)
		}
		m.Events[Stale] = eventMark{At: now}
		if _, err := json.Marshal(m); err != nil {
			t.Errorf("%q cannot be stored: %v", data, err)
		}
	})
}

// FuzzExpandJSON: variables in a plugin's configuration are replaced inside strings and nowhere
// else, whatever is in them.
func FuzzExpandJSON(tf *testing.F) {
	f := variants.Of(tf)
	for _, seed := range []string{`{}`, `{"url":"${A}","list":["x${A}y",{"${A}":"$${A}"}],"n":1}`, `"${"`, `["${NO"]`, `{"a":"${A}\",\"b\":\"${A}"}`, `1e999`} {
		f.Add([]byte(seed), `","x":"`)
	}
	f.Fuzz(func(t *testing.T, raw []byte, value string) {
		if !json.Valid(raw) {
			return
		}
		got, _, err := ExpandJSON(raw, func(name string) (string, bool) { return value, isName(name) })
		if err != nil {
			return
		}
		var was, is any
		if json.Unmarshal(raw, &was) != nil {
			return
		}
		if err := json.Unmarshal(got, &is); err != nil || shape(was) != shape(is) {
			t.Errorf("%s became %s: %v", raw, got, err)
		}
	})
}

// shape returns a value without the contents of its strings.
func shape(v any) string {
	switch v := v.(type) {
	case string:
		return "s"
	case []any:
		var b strings.Builder
		for _, one := range v {
			b.WriteString(shape(one))
		}
		return "[" + b.String() + "]"
	case map[string]any:
		names, err := json.Marshal(keysOnly(v)) // sorted
		if err != nil {
			return err.Error()
		}
		return string(names)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func keysOnly(v map[string]any) map[string]string {
	out := make(map[string]string, len(v))
	for name, one := range v {
		out[name] = shape(one)
	}
	return out
}
