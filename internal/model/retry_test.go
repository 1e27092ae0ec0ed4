package model

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patchbay-dev/patchbay/internal/model/modeltest"
)

func TestTemporaryErrorsAreRetried(t *testing.T) {
	garbage := modeltest.Reply{Text: "half", Raw: "event: content_block_delta\ndata: {nonsense\n\n"}
	for rule, bad := range map[string]modeltest.Reply{
		"429":               {Status: 429, Error: "rate_limit_error"},
		"500":               {Status: 500, Error: "api_error"},
		"502 of a proxy":    {Status: 502, Body: "<html>bad gateway</html>"},
		"529":               {Status: 529, Error: "overloaded_error"},
		"mid-stream error":  {Text: "half", Error: "overloaded_error"},
		"cut connection":    {Text: "half", Cut: true},
		"no end of stream":  {Text: "half", Raw: "\n"},
		"garbage in stream": garbage,
	} {
		t.Run(rule, func(t *testing.T) {
			eachProvider(t, func(t *testing.T, f *fixture) {
				f.play(t, bad, bad, modeltest.Reply{Text: "well then"})
				resp, deltas := f.must(t, nil)
				equal(t, resp.Text, "well then")
				equal(t, streamed(deltas), "well then")
				again := retries(deltas)
				if len(again) != 2 || again[0].Attempt != 2 || again[1].Attempt != 3 || again[0].Err == nil {
					t.Errorf("got %+v", again)
				}
				if again[0].After != f.waits[0] || f.waits[0] < firstWait/2 || f.waits[0] > firstWait || f.waits[1] < firstWait {
					t.Errorf("waited %v", f.waits)
				}
			})
		})
	}
}

func TestFiveTriesAreEnough(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		bad := modeltest.Reply{Status: 503, Error: "api_error"}
		f.play(t, bad, bad, bad, bad, bad)
		e := f.fails(t, nil)
		if e.Status != 503 || e.Tries != 5 || len(f.waits) != 4 {
			t.Errorf("got %+v after %v", e, f.waits)
		}
		want := "model " + f.provider + `: 503 service unavailable: "the fake says api_error" (asked 5 times)`
		equal(t, e.Error(), want)
	})
}

func TestOtherRefusalsAreFinal(t *testing.T) {
	for _, status := range []int{400, 402, 404, 405, 409, 422} {
		eachProvider(t, func(t *testing.T, f *fixture) {
			f.play(t, modeltest.Reply{Status: status, Error: "odd"})
			if e := f.fails(t, nil); e.Status != status || e.Tries != 1 {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestAnEmptyAccountIsFinal(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{Status: 429, Error: "insufficient_quota"})
	if e := f.fails(t, nil); e.Tries != 1 || !strings.Contains(e.Fix, "credit") {
		t.Errorf("got %+v", e)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for value, want := range map[string]time.Duration{"7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "86400": time.Minute} {
		eachProvider(t, func(t *testing.T, f *fixture) {
			f.play(t, modeltest.Reply{Status: 429, Error: "x", Header: map[string]string{"Retry-After": value}}, modeltest.Reply{})
			f.must(t, nil)
			equal(t, f.waits, []time.Duration{want})
		})
	}
}

// TestRetryAfterFormats: the header is read as seconds, as milliseconds or as a date. Invalid
// values count as 0, and long times are limited.
func TestRetryAfterFormats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a clock that stands still
		date := time.Now().Add(20 * time.Second).UTC().Format(http.TimeFormat)
		for _, c := range []struct {
			name, value string
			want        time.Duration
		}{
			{"Retry-After", "3", 3 * time.Second},
			{"Retry-After-Ms", "250", 250 * time.Millisecond},
			{"Retry-After", date, 20 * time.Second},
			{"Retry-After", "Mon, 01 Jan 1990 15:04:05 GMT", 0},
			{"Retry-After", "-3", 0},
			{"Retry-After", "NaN", 0},
			{"Retry-After", "soon", 0},
			{"Retry-After", "1e300", time.Minute},
			{"Retry-After-Ms", "Inf", time.Minute},
		} {
			if got := retryAfter(http.Header{c.name: {c.value}}); got != c.want {
				t.Errorf("%s: %s: got %v, want %v", c.name, c.value, got, c.want)
			}
		}
		equal(t, retryAfter(nil), time.Duration(0))
	})
}

func TestBackoffGrowsAndScatters(t *testing.T) {
	for tries := 1; tries < 100; tries++ {
		full := min(firstWait<<min(tries-1, 30), 32*firstWait)
		if d := backoff(tries); d < full/2 || d > full {
			t.Errorf("after %d tries: %v", tries, d)
		}
	}
}

func TestAnUnreachableServerIsAskedAgain(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		f.open(t, Config{BaseURL: "http://" + addr})
		if e := f.fails(t, nil); e.Tries != maxTries || !strings.Contains(e.Fix, "does a server listen at http://"+addr) {
			t.Errorf("got %v", e)
		}
	})
}

// TestTooLong: an error about the length of the conversation is ErrTooLong and is not tried again.
func TestTooLong(t *testing.T) {
	bodies := map[string][]string{
		ProviderAnthropic: {
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 201000 tokens > 200000 maximum"}}`,
			`{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 2"}}`,
		},
		ProviderOpenAI: {
			`{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			`{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","code":400}}`,
			`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`,
			`{"detail":"prompt is too long"}`,
		},
	}
	eachProvider(t, func(t *testing.T, f *fixture) {
		for _, body := range bodies[f.provider] {
			f.play(t, modeltest.Reply{Status: 400, Body: body})
			if e := f.fails(t, nil); !errors.Is(e, ErrTooLong) || e.Tries != 1 {
				t.Errorf("%s: got %v", body, e)
			}
		}
		f.play(t, modeltest.Reply{Status: 413, Body: "no"})
		if e := f.fails(t, nil); !errors.Is(e, ErrTooLong) {
			t.Errorf("413: got %v", e)
		}
		f.play(t, modeltest.Reply{Status: 400, Error: "odd"})
		if e := f.fails(t, nil); errors.Is(e, ErrTooLong) {
			t.Errorf("another error is not too long: %v", e)
		}
	})
}

func TestTooLongInMidStream(t *testing.T) {
	f := &fixture{provider: ProviderOpenAI, serve: modeltest.OpenAI}
	f.play(t, modeltest.Reply{Error: "context_length_exceeded"})
	if e := f.fails(t, nil); !errors.Is(e, ErrTooLong) || e.Tries != 1 {
		t.Errorf("got %v", e)
	}
}

func TestARefusedKeyNamesItsVariable(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		for _, status := range []int{401, 403} {
			f.play(t, modeltest.Reply{Status: status, Error: "authentication_error"})
			e := f.fails(t, nil)
			name := strings.ToUpper(f.provider) + "_API_KEY"
			if !errors.Is(e, ErrAuth) || e.Tries != 1 || !strings.Contains(e.Error(), name+", which comes from the environment") {
				t.Errorf("got %v", e)
			}
		}
	})
}

func TestForeignWordsAreCutAndQuoted(t *testing.T) {
	eachProvider(t, func(t *testing.T, f *fixture) {
		f.play(t, modeltest.Reply{Status: 400, Body: "\x1b[31m" + strings.Repeat("é", 10_000)})
		text := f.fails(t, nil).Error()
		if len(text) > 2*maxForeign || strings.Contains(text, "\x1b") || !strings.Contains(text, `…"`) {
			t.Errorf("got %d bytes: %s", len(text), text)
		}
	})
}
