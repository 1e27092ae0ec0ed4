package daemon

import (
	"fmt"
	"net/http"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

// logAccess logs each request after it is answered: method, path, status and duration. It leaves
// out the query, which may contain secrets.
func (c *Core) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			from := r.RemoteAddr
			if from == "" || from == "@" {
				from = "socket"
			}
			c.log.Info(fmt.Sprintf("%s %s: %d", excerpt.Head(r.Method, 20), excerpt.Head(r.URL.Path, 200), seen.status), "took", time.Since(began), "from", from)
		}()
		next.ServeHTTP(seen, r)
	})
}

// A statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer to http.ResponseController, which flushes and sets deadlines.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
