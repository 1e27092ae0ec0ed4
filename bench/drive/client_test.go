package drive

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// answering returns a client of a server that answers every request with text.
func answering(t *testing.T, text string) *Client {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }))
	t.Cleanup(s.Close)
	return NewClient(s.URL)
}

func TestList(t *testing.T) {
	for _, c := range []struct {
		rule, answer string
		want         []int // nil: an error
	}{
		{"a bare list", `[1,2]`, []int{1, 2}},
		{"a page with the list in a field", `{"items":[1,2],"next":"x"}`, []int{1, 2}},
		{"an object without the field is an error", `{"others":[1]}`, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var got []int
			err := answering(t, c.answer).List(t.Context(), "/", "items", &got)
			if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
				t.Errorf("%v, %v; wanted %v", got, err, c.want)
			}
		})
	}
}

func TestMetricsAreAddedUpOverTheirLabels(t *testing.T) {
	const text = "# HELP a b\na{x=\"1 2\"} 3\na{x=\"2\"} 4\nb 1e+06\n"
	got, err := answering(t, text).Metrics(t.Context())
	if err != nil || got["a"] != 7 || got["b"] != 1e6 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDroppedWantsTheCounter(t *testing.T) {
	if _, err := answering(t, "{}").Dropped(t.Context()); err == nil || !strings.Contains(err.Error(), "patchbay_events_dropped_total") && !strings.Contains(err.Error(), "metrics") {
		t.Errorf("error is %v", err)
	}
}
