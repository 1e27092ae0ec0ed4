package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/engine"
)

// TestDamageIsReported flips eight bytes of a transcript. The daemon starts with all undamaged
// messages. Log, health and doctor report the damage with counts, until a repair was run.
func TestDamageIsReported(t *testing.T) {
	h := newTestHome(t)
	c := h.open("")
	id := h.session(c)
	for range 10 {
		h.say(c, id, "what is this?")
	}
	h.close(c)
	engineDir := filepath.Join(c.Dirs.Data, "engine")
	path := filepath.Join(engineDir, "jetstream", "$G", "streams", "patchbay_stream_transcripts", "msgs", "1.blk")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		data[len(data)/10+i] ^= 0xff
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Run("it is reported until it is acknowledged", func(t *testing.T) {
		h := testHome{t, h.home}
		s := h.serve("", Limits{})
		for _, want := range []string{"patchbay_stream_transcripts", "lost=1"} {
			if !strings.Contains(s.log.String(), want) {
				t.Errorf("the log does not say %q", want)
			}
		}
		got := s.do("GET", "/v1/health", "")
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, `"status":"degraded"`) ||
			!strings.Contains(got.body, `"lost":1`) || !strings.Contains(got.body, "engine repair") {
			t.Errorf("health: %d %s", got.status, got.body)
		}
		got = s.do("GET", "/v1/doctor", "")
		if !strings.Contains(got.body, `"ok":false`) || !strings.Contains(got.body, "1 lost") || !strings.Contains(got.body, "engine repair") {
			t.Errorf("doctor: %s", got.body)
		}
	})
	if _, err := engine.Repair(t.Context(), engineDir, c.log); err != nil {
		t.Fatal(err)
	}
	t.Run("it is not reported after that", func(t *testing.T) {
		h := testHome{t, h.home}
		s := h.serve("", Limits{})
		s.works("the repair")
		if got := s.do("GET", "/v1/doctor", ""); !strings.Contains(got.body, `"ok":true`) {
			t.Errorf("doctor: %s", got.body)
		}
	})
}
