package otlp

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/otlp/otlptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// event returns an event of two plugins, the second of which fails.
func event(turn string, action hook.Action) Event {
	return Event{Session: "ses_1", Turn: turn, End: time.Unix(1_700_000_000, 42), Outcome: &hook.Outcome{Point: hook.TurnInput, Verdict: hook.Continue, By: "b",
		Steps: []hook.Step{
			{Plugin: "a", Dialect: "scaffold", Hook: "post_user_input", Verdict: hook.Continue, Changed: true, Duration: time.Millisecond},
			{Plugin: "b", Dialect: "mine", Hook: "preexec", Verdict: hook.Continue, Started: time.Time{}.Add(time.Millisecond), Duration: 2 * time.Millisecond,
				Err: hook.Failure(hook.Crash, errors.New("gone")), Action: action},
		}}}
}

func config(t *testing.T, url string, env ...string) Config {
	t.Helper()
	c, err := FromEnviron(url, func(name string) string {
		for i := 0; i < len(env); i += 2 {
			if env[i] == name {
				return env[i+1]
			}
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSpansOfATurn checks that a turn is one trace, with a span for each event, a child for each
// step, and errors as status.
func TestSpansOfATurn(t *testing.T) {
	collector := otlptest.New(t)
	client := NewClient(config(t, collector.URL, "OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=y", "OTEL_RESOURCE_ATTRIBUTES", "host.name=h",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"))
	spans := Spans(event("t1", hook.ActionSkip), event("t2", hook.ActionDeny))
	if sent, err := client.Send(t.Context(), spans); err != nil || sent.Spans != 6 {
		t.Fatalf("%+v, %v", sent, err)
	}
	got := collector.Spans()
	if len(got) != 6 {
		t.Fatalf("%d spans arrived", len(got))
	}
	root, a, b := got[0], got[1], got[2]
	switch {
	case root.Name != "turn.input" || root.Parent != "" || root.Status.Code != 0:
		t.Errorf("the event is %+v", root)
	case a.Parent != root.SpanID || b.Parent != root.SpanID || a.TraceID != root.TraceID:
		t.Errorf("the steps are not below the event: %+v %+v", a, b)
	case a.Attributes["patchbay.plugin"] != "a" || a.Attributes["patchbay.changed"] != true || root.Attributes["patchbay.steps"] != int64(2) || root.Attributes["session.id"] != "ses_1":
		t.Errorf("attributes %v %v", root.Attributes, a.Attributes)
	case b.Status.Code != 2 || b.Status.Message != "gone" || b.Attributes["error.type"] != "crash":
		t.Errorf("the failure is %+v", b)
	case b.End-b.Start != 2_000_000 || a.End != b.Start || root.Start != a.Start || root.End != b.End || root.End != 1_700_000_000_000_000_042:
		t.Errorf("times: %+v %+v %+v", root, a, b)
	case got[3].TraceID == root.TraceID || got[3].Status.Code != 2:
		t.Errorf("the other turn is %+v", got[3])
	}
	if h := collector.Header(); h.Get("Api-Key") != "a b" || h.Get("X") != "y" || collector.Resource()["host.name"] != "h" || collector.Resource()["service.name"] != "patchbay" {
		t.Errorf("headers %v, resource %v", h, collector.Resource())
	}
	again := Spans(event("t1", hook.ActionSkip))
	if again[1].ID != spans[1].ID || again[0].Trace != spans[0].Trace {
		t.Error("the same event has other ids the second time")
	}
}

// TestSpansHaveNoSecrets checks that secrets are removed before a long text is cut.
func TestSpansHaveNoSecrets(t *testing.T) {
	e := event("t1", hook.ActionDeny)
	e.Clean = func(text string) string { return strings.ReplaceAll(text, "planted-key", "[secret]") }
	e.Outcome.Reason = strings.Repeat("x", maxText-5) + "planted-key"
	e.Outcome.Steps[1].Err = hook.Failure(hook.Crash, errors.New("bad key planted-key"))
	spans := Spans(e)
	if text := fmt.Sprintf("%+v", spans); strings.Contains(text, "plant") || spans[0].Message != "bad key [secret]" || spans[2].Message != spans[0].Message {
		t.Errorf("%s", text)
	}
}

// TestSpansThatOverlap checks that the spans of a notify point overlap, and that none begins before
// its event.
func TestSpansThatOverlap(t *testing.T) {
	e := event("t", hook.ActionSkip)
	e.Outcome.Point = hook.TurnDone
	e.Outcome.Steps[0].Started = time.Time{}.Add(1500 * time.Microsecond) // the second was called first
	spans := Spans(e)
	root, a, b := spans[0], spans[1], spans[2]
	if !root.Start.Equal(b.Start) || !root.End.Equal(b.End) || a.Start.Sub(b.Start) != 500*time.Microsecond || !root.End.Equal(e.End) {
		t.Errorf("the event is from %v to %v, its steps from %v to %v and from %v to %v", root.Start, root.End, a.Start, a.End, b.Start, b.End)
	}
}

// TestAnswers checks which answers of a collector lead to another try.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string // status and Retry-After; the last one is repeated
		calls   int
		err     string
	}{
		"taken":                      {[]string{"200"}, 1, ""},
		"busy, then accepted":        {[]string{"503", "429 0", "200"}, 3, ""},
		"busy for ever":              {[]string{"503"}, maxTries, "503"},
		"refused is not tried again": {[]string{"400"}, 1, "400"},
		"no redirect is followed":    {[]string{"307"}, 1, "307"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				status, after, _ := strings.Cut(c.answers[min(calls, len(c.answers)-1)], " ")
				calls++
				code, _ := strconv.Atoi(status)
				w.Header().Set("Retry-After", after)
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(code)
			}))
			defer server.Close()
			client := NewClient(config(t, server.URL))
			client.wait = time.Microsecond
			defer client.http.CloseIdleConnections()
			_, err := client.Send(t.Context(), Spans(event("t", "")))
			if calls != c.calls || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 16, 13, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "99999999": maxWait, "-1": 0, "x": 0,
		now.Add(9 * time.Second).Format(http.TimeFormat): 9 * time.Second} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestPartialSuccess checks that spans that a collector rejects are reported.
func TestPartialSuccess(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}`)
	}))
	defer server.Close()
	client := NewClient(config(t, server.URL))
	defer client.http.CloseIdleConnections()
	if sent, err := client.Send(t.Context(), Spans(event("t", ""))); err != nil || sent != (Sent{1, 2, "too old"}) {
		t.Errorf("%+v, %v", sent, err)
	}
}

func TestEndpoint(t *testing.T) {
	for name, c := range map[string]struct {
		address string
		env     []string
		want    string // or the text of the error
	}{
		"a base":                         {"http://c:4318", nil, "http://c:4318/v1/traces"},
		"a base with a path":             {"http://c/otlp/", nil, "http://c/otlp/v1/traces"},
		"the whole":                      {"http://c/x/v1/traces", nil, "http://c/x/v1/traces"},
		"the variable is a base":         {"", []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "https://c"}, "https://c/v1/traces"},
		"the one for traces is complete": {"", []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/t", "OTEL_EXPORTER_OTLP_ENDPOINT", "https://d"}, "https://c/t"},
		"grpc is not supported":          {"", []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "http/json"},
		"nothing":                        {"", nil, ErrNoEndpoint.Error()},
		"no address":                     {"c:4318", nil, "http://127.0.0.1:4318"},
		"bad headers are not repeated":   {"http://c", []string{"OTEL_EXPORTER_OTLP_HEADERS", "hush"}, "OTEL_EXPORTER_OTLP_HEADERS: want NAME=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromEnviron(c.address, func(name string) string {
				if i := slices.Index(c.env, name); i >= 0 {
					return c.env[i+1]
				}
				return ""
			})
			if err != nil {
				if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
					t.Errorf("got %v", err)
				}
				return
			}
			if got.URL.String() != c.want {
				t.Errorf("got %s", got.URL)
			}
		})
	}
}

// TestQueue checks that a queue never waits, and counts the spans that an unreachable collector
// does not accept.
func TestQueue(t *testing.T) {
	collector := otlptest.New(t)
	client := NewClient(config(t, collector.URL))
	defer client.http.CloseIdleConnections()
	q := NewQueue(client, slog.New(slog.DiscardHandler))
	q.Offer(Spans(event("t", "")))
	q.Close()
	if c := q.Counts(); c.Sent != 3 || c.Dropped != 0 || len(collector.Spans()) != 3 {
		t.Errorf("%+v, %d arrived", c, len(collector.Spans()))
	}

	var mu sync.Mutex
	var log strings.Builder
	away := NewClient(config(t, "http://127.0.0.1:1"))
	away.wait = time.Microsecond
	q = NewQueue(away, slog.New(slog.NewTextHandler(writer(func(p []byte) {
		mu.Lock()
		defer mu.Unlock()
		log.Write(p)
	}), nil)))
	for range maxWaiting {
		q.Offer(Spans(event("t", "")))
	}
	q.Close()
	q.Offer(Spans(event("t", "")))
	mu.Lock()
	defer mu.Unlock()
	if c := q.Counts(); c.Sent != 0 || c.Dropped != 3*(maxWaiting+1) || c.Error != "the export has ended" || !strings.Contains(log.String(), "spans were not exported") {
		t.Errorf("%+v: %s", c, log.String())
	}
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// TestTheValidatorCanFail checks that the validator of these tests finds mistakes.
func TestTheValidatorCanFail(t *testing.T) {
	good, err := Encode(nil, Spans(event("t", "")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := otlptest.Parse(good); err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"ids are hexadecimal":      {`"traceId":"[0-9a-f]{4}`, `"traceId":"+/==`},
		"ids have their length":    {`"spanId":"[0-9a-f]`, `"spanId":"`},
		"times are strings":        {`"startTimeUnixNano":"([0-9]+)"`, `"startTimeUnixNano":$1`},
		"integers are strings":     {`"intValue":"2"`, `"intValue":2`},
		"enums are numbers":        {`"kind":1`, `"kind":"SPAN_KIND_INTERNAL"`},
		"names are camel case":     {`"parentSpanId"`, `"parent_span_id"`},
		"the end is not too early": {`"endTimeUnixNano":"1`, `"endTimeUnixNano":"0`},
	} {
		bad := regexp.MustCompile(edit[0]).ReplaceAll(good, []byte(edit[1]))
		if string(bad) == string(good) {
			t.Errorf("%s: nothing was edited", name)
		}
		if _, err := otlptest.Parse(bad); err == nil {
			t.Errorf("%s: %s is accepted", name, bad)
		}
	}
	var any map[string]json.RawMessage
	if json.Unmarshal(good, &any) != nil || len(any) != 1 {
		t.Errorf("%s", good)
	}
}

// TestDroppedSpansAreLogged: the queue logs the first dropped spans, and then each time their
// number has doubled, also if each batch has the same size.
func TestDroppedSpansAreLogged(t *testing.T) {
	var log strings.Builder
	q := &Queue{log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 9 {
		q.drop(10, "the collector is away")
	}
	if lines := strings.Count(log.String(), "spans were not exported"); lines != 4 || !strings.Contains(log.String(), "dropped=80") {
		t.Errorf("%d lines:\n%s", lines, log.String())
	}
}
