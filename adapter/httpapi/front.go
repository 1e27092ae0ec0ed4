package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// A front is what every request passes, whatever its path.
type front struct {
	gate   *gate
	mux    func() *http.ServeMux
	web    http.Handler // nil: none
	limits Limits
	logger *slog.Logger
}

// ServeHTTP is the call tree in doc.go.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	resp := &response{ResponseWriter: w, control: http.NewResponseController(w), limit: f.limits.Write}
	defer func() {
		f.finish(resp, r, finished{since: time.Since(start), panicked: recover()})
	}()
	setHeaders(resp.Header())
	if p := f.gate.check(r); p != nil {
		refuse(resp, r, p)
		return
	}
	taken, p := f.takeBody(resp, r)
	if p != nil {
		refuse(resp, r, p)
		return
	}
	f.dispatch(resp, taken)
}

// refuse answers a request whose body was not read, or not to its end. On a connection that is to
// be kept, net/http would first wait for the rest of it; on any other it would wait for up to 256
// KiB, however long they take.
func refuse(w *response, r *http.Request, p *problem) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		w.readDeadline(time.Now())
	}
	p.write(w)
}

// setHeaders sets what is right for an answer of the API; pages set their own policy.
func setHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// setPageHeaders sets the headers of the web pages. A link to another site does not tell it the
// page's address, and a window of another site that opened the page cannot reach into it.
func setPageHeaders(h http.Header) {
	h.Del("Cache-Control") // theirs to say
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", webPolicy)
}

// takeBody reads the body here, where its size and time are bounded, and returns a request that has
// it in memory. The read deadline must be gone by the time a route runs: net/http ends the
// request's context when it passes, and a turn takes longer than a body.
func (f *front) takeBody(w *response, r *http.Request) (*http.Request, *problem) {
	most := f.limits.bodyLimit(r.URL.Path)
	tooLarge := &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("Request body is too large: at most %d bytes.", most)}
	if r.ContentLength > most {
		return nil, tooLarge
	}
	w.readDeadline(time.Now().Add(f.limits.BodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, r.Body, most)) // net/http knows its own writer alone
	w.readDeadline(time.Time{})
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &problem{http.StatusRequestTimeout, fmt.Sprintf("The body did not arrive within %s.", f.limits.BodyTime)}
	}
	if err != nil {
		return nil, &problem{http.StatusBadRequest, "The body could not be read."}
	}
	taken := r.WithContext(r.Context())
	taken.Body, taken.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return taken, nil
}

// dispatch finds the route. The mux's own answers where there is none are text, and become
// problems.
func (f *front) dispatch(w *response, r *http.Request) {
	mux := f.mux()
	none, pattern := mux.Handler(r)
	if pattern != "" {
		mux.ServeHTTP(w, r)
		return
	}
	probe := &probe{header: make(http.Header)}
	none.ServeHTTP(probe, r)
	switch {
	case probe.status == http.StatusMethodNotAllowed:
		allow := probe.header.Get("Allow")
		w.Header().Set("Allow", allow)
		(&problem{http.StatusMethodNotAllowed, "Method not allowed: " + excerpt.Of(r.Method, maxName) + ". Allowed here: " + allow}).write(w)
	case f.web != nil && isRead(r.Method) && !isAPI(r.URL.Path):
		setPageHeaders(w.Header())
		f.web.ServeHTTP(w, r)
	default:
		(&problem{http.StatusNotFound, "Not found: " + excerpt.Of(r.URL.Path, maxName)}).write(w)
	}
}

// isAPI tells the paths where a web page would be a wrong answer to a typing error.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "v1", "plugin", "feature", "features", "session", "metrics", "mcp", "openapi.json", "docs":
		return true
	}
	return false
}

// A probe finds out what the mux would answer.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) WriteHeader(status int)      { p.status = status }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

// finished is how a request ended.
type finished struct {
	since    time.Duration
	panicked any // nil: it did not
}

// finish answers where a route could not, and writes the log.
func (f *front) finish(w *response, r *http.Request, end finished) {
	log := f.logger.With("method", r.Method, "path", excerpt.Of(r.URL.Path, 200), "dur", end.since)
	if end.panicked == nil {
		log.Debug("request", "status", w.status)
		return
	}
	switch {
	case w.err != nil: // huma panics when it cannot write
		log.Debug("client gone", "err", w.err)
	case end.panicked == http.ErrAbortHandler: //nolint:errorlint // a route that wants the connection cut, and no noise: this very value, by net/http's rule
		panic(http.ErrAbortHandler)
	default:
		log.Error("panic in a route", "err", excerpt.Of(fmt.Sprint(end.panicked), maxDetail), "stack", string(debug.Stack()))
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
	(&problem{http.StatusInternalServerError, detailInternal}).write(w)
}

// A response gives each write its deadline and remembers the status. It is used by one goroutine at
// a time.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	status  int   // 0: nothing was sent yet
	err     error // of the first write that failed
}

// pieceSize is how much a client has to take within the limit: any that reads at all does.
const pieceSize = 64 << 10

// Unwrap is for http.ResponseController, which flushes.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader keeps the first status; huma sets a second one for clients that are gone.
func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write gives each piece its own deadline, so that a long answer may take its time.
func (w *response) Write(p []byte) (n int, err error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	for first := true; first || n < len(p) && err == nil; first = false {
		var wrote int
		w.extend()
		wrote, err = w.ResponseWriter.Write(p[n:min(n+pieceSize, len(p))])
		n += wrote
	}
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// extend gives a client more time. Where there are no deadlines to set, there is no connection to
// block.
func (w *response) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.limit)) }

func (w *response) readDeadline(t time.Time) { _ = w.control.SetReadDeadline(t) }
