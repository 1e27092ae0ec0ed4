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

// A front handles every request before its route.
type front struct {
	gate   *gate
	mux    func() *http.ServeMux
	web    http.Handler // nil: no web pages
	limits Limits
	logger *slog.Logger
}

// ServeHTTP runs the steps of the call tree in doc.go.
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

// refuse answers a request whose body was not read to its end. It closes the connection, because
// net/http would otherwise wait for the rest of the body before it answers. It also ends reading,
// because net/http waits for up to 256 KiB even if it closes the connection.
func refuse(w *response, r *http.Request, p *problem) {
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
		w.readDeadline(time.Now())
	}
	p.write(w)
}

// setHeaders sets the headers of an answer of the API. Web pages set their own policy.
func setHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
}

// setPageHeaders sets the headers of the web pages. They hide the address of a page from other
// sites that it links to, and keep a window of another site that opened the page from accessing it.
func setPageHeaders(h http.Header) {
	h.Del("Cache-Control") // the pages set it
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Security-Policy", webPolicy)
}

// takeBody reads the body within its limits of size and time, and returns a request that has it in
// memory. The read deadline must be removed before a route runs: net/http ends the request's
// context when the deadline passes, and a turn takes longer than a body.
func (f *front) takeBody(w *response, r *http.Request) (*http.Request, *problem) {
	most := f.limits.bodyLimit(r.URL.Path)
	tooLarge := &problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("Request body is too large: at most %d bytes.", most)}
	if r.ContentLength > most {
		return nil, tooLarge
	}
	w.readDeadline(time.Now().Add(f.limits.BodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, r.Body, most)) // MaxBytesReader works only with net/http's own writer
	w.readDeadline(time.Time{})
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &problem{http.StatusRequestTimeout, fmt.Sprintf("The body did not arrive within %s.", f.limits.BodyTime)}
	}
	if err != nil {
		return nil, &problem{http.StatusBadRequest, "Cannot read the body."}
	}
	taken := r.WithContext(r.Context())
	taken.Body, taken.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return taken, nil
}

// dispatch finds the route. If there is none, it answers with a web page or a problem, and not with
// the mux's own text.
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

// isAPI reports whether a path belongs to the API, so that a misspelt path is not answered with a
// web page.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "v1", "plugin", "feature", "features", "session", "metrics", "mcp", "openapi.json", "docs":
		return true
	}
	return false
}

// A probe records the answer of the mux.
type probe struct {
	header http.Header
	status int
}

func (p *probe) Header() http.Header         { return p.header }
func (p *probe) WriteHeader(status int)      { p.status = status }
func (p *probe) Write(b []byte) (int, error) { return len(b), nil }

// finished describes how a request ended.
type finished struct {
	since    time.Duration
	panicked any // the value of the panic; nil: there was none
}

// finish answers if a route could not, and logs the request.
func (f *front) finish(w *response, r *http.Request, end finished) {
	log := f.logger.With("method", r.Method, "path", excerpt.Of(r.URL.Path, 200), "dur", end.since)
	if end.panicked == nil {
		log.Debug("request", "status", w.status)
		return
	}
	switch {
	case w.err != nil: // huma panics when it cannot write
		log.Debug("client gone", "err", w.err)
	case end.panicked == http.ErrAbortHandler: //nolint:errorlint // a route wants to close the connection without a message; net/http compares this value
		panic(http.ErrAbortHandler)
	default:
		log.Error("panic in a route", "err", excerpt.Of(fmt.Sprint(end.panicked), maxDetail), "stack", string(debug.Stack()))
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler) // an incomplete answer must not look complete
	}
	(&problem{http.StatusInternalServerError, detailInternal}).write(w)
}

// A response sets a deadline for each write, and stores the status. It is used by one goroutine at
// a time.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	status  int   // 0: nothing was sent yet
	err     error // of the first write that failed
}

// pieceSize is how much a client must read within the limit. Every client that reads at all is
// faster.
const pieceSize = 64 << 10

// Unwrap lets http.ResponseController flush.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader keeps the first status. Huma sets a second one for clients that are gone.
func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.extend()
	w.ResponseWriter.WriteHeader(status)
}

// Write sets a new deadline for each piece, so that a long answer may take long.
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

// extend sets a new write deadline. An error means that the connection has no deadlines, and so
// cannot block.
func (w *response) extend() { _ = w.control.SetWriteDeadline(time.Now().Add(w.limit)) }

func (w *response) readDeadline(t time.Time) { _ = w.control.SetReadDeadline(t) }
