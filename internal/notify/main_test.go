package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience bounds every wait for something that must happen; nothing is asserted about how long
// things take.
const patience = time.Minute

// TestMain also runs the fake programs: started under the name of one, the test binary records how
// it was started.
func TestMain(m *testing.M) {
	if fake, ok := fakes[filepath.Base(os.Args[0])]; ok {
		syscall.Exit(fake()) // not os.Exit, which takes a second under the race detector
	}
	goleak.VerifyTestMain(m)
}

// A received is a request that an endpoint got.
type received struct {
	Method, Path, Kind, Auth, Body string
}

// An answer is a response of an endpoint.
type answer struct {
	status int
	header map[string]string
	body   string
}

// An endpoint is a service on loopback. It gives its answers in order, and then answers 200.
type endpoint struct {
	*httptest.Server
	mu      sync.Mutex // protects the fields below
	answers []answer
	got     []received
}

func serve(t testing.TB, answers ...answer) *endpoint {
	t.Helper()
	e := &endpoint{answers: answers}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.got = append(e.got, received{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), r.Header.Get("Authorization"), string(body)})
	if len(e.answers) == 0 {
		return
	}
	next := e.answers[0]
	e.answers = e.answers[1:]
	for name, value := range next.header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(next.status)
	fmt.Fprint(w, next.body)
}

func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.got
}

// only returns the request. There must be exactly one.
func (e *endpoint) only(t *testing.T) received {
	t.Helper()
	got := e.requests()
	if len(got) != 1 {
		t.Fatalf("got %d requests: %+v", len(got), got)
	}
	return got[0]
}

// A testOptions holds the options of a test, the log, and the pauses.
type testOptions struct {
	Options
	logs  bytes.Buffer
	waits []time.Duration // the pauses between tries, which are skipped
}

func newTestOptions(variables map[string]string) *testOptions {
	s := &testOptions{}
	s.Lookup = func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
	s.Logger = slog.New(slog.NewTextHandler(&s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.wait = func(ctx context.Context, d time.Duration) error {
		s.waits = append(s.waits, d)
		return ctx.Err()
	}
	return s
}

// notifier calls New, and fails the test on an error.
func (s *testOptions) notifier(t *testing.T, driver string, settings map[string]any) Notifier {
	t.Helper()
	n, err := New(driver, settings, s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// failed returns a message about a failing agent.
func failed() Message {
	return Message{
		Agent: "finops", Schedule: "weekly", Event: AttemptFailed, Attempt: 2, Attempts: 3, ExitCode: 7,
		Body: "cannot <read> A&B", Suggest: "log in again",
		Time: time.Unix(1_800_000_000, 0),
	}
}

// same compares two texts, by value if both are JSON.
func same(t *testing.T, got, want string) {
	t.Helper()
	if flat(got) != flat(want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func flat(s string) string {
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	out, err := json.Marshal(v)
	if err != nil {
		return s
	}
	return string(out)
}

// hasNone fails the test if a text contains one of the words.
func hasNone(t *testing.T, where, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("%s shows %q: %s", where, w, text)
		}
	}
}
