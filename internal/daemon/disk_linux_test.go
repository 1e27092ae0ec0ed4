package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// TestFullDiskIsReportedByEveryRequest fills the disk of a daemon. Every request that must write
// then fails, says why and names the directory. The health is degraded, and stored data can still
// be read. When there is space again, everything works. The same holds if another process runs the
// engine.
func TestFullDiskIsReportedByEveryRequest(t *testing.T) {
	t.Parallel()
	for _, guest := range []bool{false, true} {
		name := map[bool]string{false: "the daemon runs the engine", true: "another process runs it"}[guest]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testFullDisk(t, guest)
		})
	}
}

func testFullDisk(t *testing.T, guest bool) {
	h := testHome{t, plugtest.SmallDisk(t, "40m")}
	if guest {
		embedded.Engine(t, filepath.Join(h.home, ".local", "share", "patchbay", "engine"))
	}
	s := h.serve("", Limits{})
	if got := string(s.Engine.Status().Mode); (got == "guest") != guest {
		t.Fatalf("the daemon is the engine's %s", got)
	}
	id := s.session()
	if got := s.do("POST", "/session/"+id+"/message", `{"text":"before"}`); got.status != http.StatusOK {
		t.Fatalf("before: %d %s", got.status, got.body)
	}
	s.works("the first message")

	filling := filepath.Join(h.home, "filling")
	if err := os.WriteFile(filling, make([]byte, 1<<30), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk does not fill: %v", err)
	}
	said := func(what string, got reply, status int) {
		t.Helper()
		if got.status != status || !strings.Contains(got.body, "no space left") || !strings.Contains(got.body, h.home) {
			t.Errorf("%s: %d %s", what, got.status, got.body)
		}
	}
	for range 3 { // the first failure and the next ones
		made := s.do("POST", "/session", "{}")
		for range 200 { // the last page of a file has room for a few more
			if made.status != http.StatusOK {
				break
			}
			made = s.do("POST", "/session", "{}")
		}
		said("a new session", made, http.StatusInsufficientStorage)
		// A turn that failed is an answer, which says why.
		turn := s.do("POST", "/session/"+id+"/message", `{"text":"`+strings.Repeat("x", 4096)+`"}`)
		if turn.status == http.StatusOK && strings.Contains(turn.body, `"status":"failed"`) {
			turn.status = http.StatusInsufficientStorage
		}
		said("a message", turn, http.StatusInsufficientStorage)
		said("a deletion", s.do("DELETE", "/session/"+id, ""), http.StatusInsufficientStorage)
	}
	if got := s.do("GET", "/v1/health", ""); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "no space left") {
		t.Errorf("health: %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/doctor", ""); !strings.Contains(got.body, "no space left") {
		t.Errorf("doctor: %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/session/"+id, ""); got.status != http.StatusOK || !strings.Contains(got.body, "before") {
		t.Errorf("stored data: %d %s", got.status, got.body)
	}

	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		got := s.do("POST", "/session/"+id+"/message", `{"text":"after"}`)
		if got.status == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("with room again: %d %s", got.status, got.body)
		}
	}
	s.works("there is room again")
}

// TestFullDiskDelaysTheResultOfARun starts a run that fills the disk. Its result is recorded as
// soon as there is space.
func TestFullDiskDelaysTheResultOfARun(t *testing.T) {
	h := testHome{t, plugtest.SmallDisk(t, "40m")}
	filling := filepath.Join(h.home, "filling")
	h.write(".config/patchbay/agents/greeter/agent.toml", strings.ReplaceAll(greeter, "echo hello; sleep 0.2; echo bye", "cat /dev/zero >"+filling+" 2>/dev/null; exit 0"))
	s := h.serve("", Limits{})
	got := s.do("POST", "/v1/jobs/greeter/run", `{"once":true}`)
	var run job.Run
	if err := json.Unmarshal([]byte(got.body), &run); err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	eventually.True(t, "the log says that the result cannot be recorded", func() bool { return strings.Contains(s.log.String(), "cannot record the result") })
	if err := os.Remove(filling); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the result is recorded", func() bool {
		return strings.Contains(s.do("GET", "/v1/runs/"+run.ID, "").body, `"succeeded"`)
	})
}
