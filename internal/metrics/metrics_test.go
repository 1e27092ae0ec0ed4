package metrics

import (
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// shown returns the text of a registry.
func shown(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if got := w.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	return w.Body.String()
}

func wants(t *testing.T, r *Registry, want string) {
	t.Helper()
	if got := shown(t, r); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}

func TestRegistry(t *testing.T) {
	t.Run("a counter, by its labels", func(t *testing.T) {
		var r Registry
		c := r.Counter("turns_total", "Turns.", "status", "who")
		c.Add(1, "ok", "b")
		c.Add(2, "ok", "a")
		c.Add(0.5, "ok", "a")
		wants(t, &r, "# HELP turns_total Turns.\n# TYPE turns_total counter\nturns_total{status=\"ok\",who=\"a\"} 2.5\nturns_total{status=\"ok\",who=\"b\"} 1\n")
	})
	t.Run("a metric without values is not shown, one without labels is", func(t *testing.T) {
		var r Registry
		r.Counter("b_total", "B.")
		r.Counter("a_total", "A.").Add(1e9)
		wants(t, &r, "# HELP a_total A.\n# TYPE a_total counter\na_total 1e+09\n")
	})
	t.Run("values may be anything", func(t *testing.T) {
		var r Registry
		r.Counter("n_total", "a\\b\nc", "v", "w").Add(1, "\"\\\n\x00\xff,}", "")
		wants(t, &r, "# HELP n_total a\\\\b\\nc\n# TYPE n_total counter\nn_total{v=\"\\\"\\\\\\n\x00\uFFFD,}\",w=\"\"} 1\n")
	})
	t.Run("a histogram", func(t *testing.T) {
		var r Registry
		h := r.Histogram("took_seconds", "Took.", []float64{0.1, 1}, "p")
		for _, v := range []float64{0.05, 0.1, 0.5, 7} {
			h.Observe(v, "x")
		}
		wants(t, &r, `# HELP took_seconds Took.
# TYPE took_seconds histogram
took_seconds_bucket{p="x",le="0.1"} 2
took_seconds_bucket{p="x",le="1"} 3
took_seconds_bucket{p="x",le="+Inf"} 4
took_seconds_sum{p="x"} 7.65
took_seconds_count{p="x"} 4
`)
	})
	t.Run("values that are read at each request", func(t *testing.T) {
		var r Registry
		n := 0.0
		r.Observe(Measured, "things", "Things.", []string{"kind"}, func(show Show) {
			n++
			show(n, "a")
			show(1, "b")
			show(1, "b") // counted together
		})
		shown(t, &r)
		wants(t, &r, "# HELP things Things.\n# TYPE things gauge\nthings{kind=\"a\"} 2\nthings{kind=\"b\"} 2\n")
	})
}

// line matches a line of the format: a comment, or a number.
var line = regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$`)

func TestRuntimeAndProcess(t *testing.T) {
	var r Registry
	r.Runtime()
	r.Process()
	runtime.GC()
	text := shown(t, &r)
	for l := range strings.Lines(text) {
		if !line.MatchString(strings.TrimSuffix(l, "\n")) {
			t.Errorf("not a line of the format: %q", l)
		}
	}
	names := []string{"go_goroutines", "go_info{version=\"" + runtime.Version() + "\"}", "go_memstats_heap_alloc_bytes", "go_gc_duration_seconds_count"}
	if runtime.GOOS == "linux" {
		names = append(names, "process_cpu_seconds_total", "process_open_fds", "process_max_fds", "process_resident_memory_bytes", "process_start_time_seconds")
	}
	for _, name := range names {
		if _, after, found := strings.Cut(text, "\n"+name+" "); !found || strings.HasPrefix(after, "0\n") {
			t.Errorf("%s is missing, or 0:\n%s", name, text)
		}
	}
}
