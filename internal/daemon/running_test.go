package daemon

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
)

// TestEveryTurnIsKnown begins a second turn of a session before the first has ended. Both can be
// interrupted, and shutdown waits for both only for a limited time.
func TestEveryTurnIsKnown(t *testing.T) {
	begin := func(t *testing.T, r *running, session string) (context.Context, func()) {
		t.Helper()
		ctx, done, err := r.begin(t.Context(), session)
		if err != nil {
			t.Fatal(err)
		}
		return ctx, done
	}
	t.Run("the second is interrupted after the first has ended", func(t *testing.T) {
		r := new(running)
		_, firstDone := begin(t, r, "a")
		second, secondDone := begin(t, r, "a")
		other, otherDone := begin(t, r, "b")
		defer otherDone()
		firstDone()
		if !r.interrupt("a") || !errors.Is(context.Cause(second), errInterrupted) {
			t.Errorf("the second: %v", context.Cause(second))
		}
		if other.Err() != nil {
			t.Error("the turn of another session was interrupted too")
		}
		secondDone()
		if r.interrupt("a") {
			t.Error("a turn was interrupted although none was running")
		}
	})
	t.Run("shutdown ends all", func(t *testing.T) {
		r := new(running)
		for range 2 {
			ctx, done := begin(t, r, "a")
			go func() { <-ctx.Done(); done() }()
		}
		if !r.interruptAll(time.Minute) {
			t.Error("not all turns have ended")
		}
		if _, _, err := r.begin(t.Context(), "a"); !errors.Is(err, errStopping) {
			t.Errorf("a turn after the shutdown: %v", err)
		}
	})
	t.Run("shutdown waits a limited time for a turn that does not end", func(t *testing.T) {
		r := new(running)
		_, done := begin(t, r, "a")
		if r.interruptAll(time.Millisecond) {
			t.Error("a running turn counts as ended")
		}
		done()
		if !r.interruptAll(time.Minute) {
			t.Error("an ended turn counts as running")
		}
	})
}

const sleeper = "[agent]\nname = \"sleeper\"\n[run]\ncommand = \"/bin/sleep\"\nargs = [\"600\"]\n[[schedules]]\nid = \"one\"\ntype = \"cron\"\nhours = [6]\n" +
	"[[schedules]]\nid = \"two\"\ntype = \"cron\"\nhours = [6]\n"

// TestCancelOverHTTP checks that a run can be ended through the routes, and ends with its daemon.
func TestCancelOverHTTP(t *testing.T) {
	h := newTestHome(t)
	h.write(".config/patchbay/agents/sleeper/agent.toml", sleeper)
	c := h.open("")
	routes := httpapi.New(httpapi.Options{Backend: c.backend()})
	server := httptest.NewServer(routes)
	defer server.Close()
	post := func(path string) int {
		t.Helper()
		resp, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	start := func(schedule string) string {
		t.Helper()
		run, err := jobs{c.Jobs}.Start(t.Context(), "sleeper", schedule, false)
		if err != nil {
			t.Fatal(err)
		}
		return run.(job.Run).ID
	}
	status := func(id string) job.Status {
		t.Helper()
		run, err := c.Jobs.Store.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return run.Status
	}
	id := start("one")
	if got := post("/v1/runs/" + id + "/cancel"); got != http.StatusOK || status(id) != job.Cancelled {
		t.Errorf("status %d, run %s", got, status(id))
	}
	if got := post("/v1/runs/" + id + "/cancel"); got != http.StatusConflict {
		t.Errorf("cancelled a second time: %d", got)
	}
	if got := post("/v1/runs/sleeper/one/20260101T000000.000Z/cancel"); got != http.StatusNotFound {
		t.Errorf("an unknown run: %d", got)
	}
	one, two := start("one"), start("two") // two runs of one agent; both are registered
	if !c.running.interruptAll(time.Minute) {
		t.Error("not all runs have ended")
	}
	if status(one) != job.Cancelled || status(two) != job.Cancelled {
		t.Errorf("%s and %s", status(one), status(two))
	}
}
