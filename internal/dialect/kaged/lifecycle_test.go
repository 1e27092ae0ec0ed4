package kaged

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// TestACrashDuringACall: the error says how the process ended; the plugin is restarted and shakes
// hands again.
func TestACrashDuringACall(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	_, err := p.CallMethod(t.Context(), "fake.crash", nil)
	if !errors.Is(err, hook.Crash) {
		t.Fatalf("error %v", err)
	}
	for _, says := range []string{"plugin echo (kaged) fake.crash", "exit code 7", "out of cheese"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("error %q does not say %q", err, says)
		}
	}
	eventually.True(t, "the plugin works again", func() bool {
		_, err := p.CallMethod(t.Context(), "fake.echo", nil)
		return err == nil
	})
	if st := p.Status(); st.Restarts != 1 || st.Health != "ok" || st.Pid == 0 {
		t.Errorf("status %+v", st)
	}
	if n, m := r.count("initialize"), r.count("initialized"); n != 2 || m != 2 {
		t.Errorf("initialize %d times, initialized %d times", n, m)
	}
	if !strings.Contains(r.log.String(), "plugin ended") {
		t.Errorf("log:\n%s", r.log)
	}
	eventually.True(t, "the restart is logged", func() bool { return strings.Contains(r.log.String(), "plugin restarted") })
}

// TestAPluginThatIsDownIsUnavailable: between a crash and the restart calls fail as unavailable,
// and the status says why.
func TestAPluginThatIsDownIsUnavailable(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	r.manifest().Env[fakeVariable] = "crash-at-initialize" // from now on
	if _, err := p.CallMethod(t.Context(), "fake.crash", nil); !errors.Is(err, hook.Crash) {
		t.Fatalf("error %v", err)
	}
	eventually.True(t, "a restart has not worked", func() bool { return p.Status().Health == "failing" })
	_, err := p.CallMethod(t.Context(), "fake.echo", nil)
	if !errors.Is(err, hook.Unavailable) || !strings.Contains(err.Error(), "no database") {
		t.Errorf("error %v", err)
	}
	if st := p.Status(); st.Err == nil || st.Pid != 0 {
		t.Errorf("status %+v", st)
	}
}

// TestHealthCheck: a plugin that does not answer in time is restarted: docs/protocols/kaged.md, row
// K82.
func TestHealthCheck(t *testing.T) {
	r := newRig(t, "no-health", "")
	r.manifest().HealthInterval = 20 * time.Millisecond
	r.dialect.health = 500 * time.Millisecond
	p := r.open()
	eventually.True(t, "the plugin is restarted", func() bool { return p.Status().Restarts > 0 })
	eventually.True(t, "the plugin is pinged again", func() bool { return r.count(methodHealth) >= 3 })
	for _, m := range r.received() {
		if m.Method == methodHealth && (string(m.Params) != `{}` || m.ID == nil) {
			t.Errorf("health.check was sent as %+v", m)
		}
	}
	if !strings.Contains(r.log.String(), "no answer to health.check within 500ms") {
		t.Errorf("log:\n%s", r.log)
	}
}

// TestHealthWaitsForCalls: the time for the answer to health.check does not begin during a call,
// since the plugin may handle one request at a time: docs/protocols/kaged.md, row K82.
func TestHealthWaitsForCalls(t *testing.T) {
	r := newRig(t, "one-at-a-time", "")
	r.manifest().HealthInterval = 20 * time.Millisecond
	p := r.open()
	done := make(chan error, 1)
	go func() {
		_, err := p.CallMethod(t.Context(), "fake.hang", nil)
		done <- err
	}()
	eventually.True(t, "health.check waits for the call", func() bool {
		p.load.mu.Lock()
		defer p.load.mu.Unlock()
		return p.load.quiet != nil
	})
	if err := os.WriteFile(filepath.Join(r.dir, "go-on"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestACallOfASilentPlugin: the error of a call whose process was ended for its silence says so.
func TestACallOfASilentPlugin(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	done := make(chan error, 1)
	go func() {
		_, err := p.CallMethod(t.Context(), "fake.hang", nil)
		done <- err
	}()
	eventually.True(t, "the call is under way", func() bool { return r.count("fake.hang") == 1 })
	p.lost(context.DeadlineExceeded)
	err := <-done
	if !errors.Is(err, hook.Crash) || !strings.Contains(err.Error(), "no answer to health.check within ") || !strings.Contains(err.Error(), "health_interval_sec") {
		t.Errorf("error %v", err)
	}
}

// TestAnErrorIsASignOfLife: an error is an answer to health.check too: docs/protocols/kaged.md, row
// K81.
func TestAnErrorIsASignOfLife(t *testing.T) {
	r := newRig(t, "health-error", "")
	r.manifest().HealthInterval = 10 * time.Millisecond
	p := r.open()
	eventually.True(t, "the plugin was pinged often", func() bool { return r.count(methodHealth) >= 5 })
	if st := p.Status(); st.Restarts != 0 || st.Health != "ok" {
		t.Errorf("status %+v", st)
	}
}

// TestNotificationFlood: notifications over the rate limit are dropped, counted and reported, and
// calls still work: docs/protocols/kaged.md, row K79.
func TestNotificationFlood(t *testing.T) {
	r := newRig(t, "notify-flood", "")
	p := r.open()
	for i := range 50 {
		if _, err := p.CallMethod(t.Context(), "fake.echo", nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	eventually.True(t, "the surplus is counted", func() bool { return p.Status().NotificationsDropped > 9000 })
	if n := len(p.Notifications()); n == 0 || n > keptNotifications {
		t.Errorf("%d kept", n)
	}
	eventually.True(t, "the surplus is logged", func() bool { return strings.Contains(r.log.String(), "notifications dropped") })
}

func TestNotifications(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	if _, err := p.CallMethod(t.Context(), "fake.notify", nil); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "both are there", func() bool { return len(p.Notifications()) == 2 })
	all := p.Notifications()
	if all[0].Method != "fake.tick" || string(all[0].Params) != `{"n":1}` || !all[0].Declared || all[1].Method != "fake.rumour" || all[1].Declared {
		t.Errorf("notifications %+v", all)
	}
	eventually.True(t, "the undeclared one is warned of", func() bool { return strings.Contains(r.log.String(), "fake.rumour") }) // it is stored before it is logged
}

// TestShutdown: Close sends shutdown and then closes stdin: docs/protocols/kaged.md, row K84.
func TestShutdown(t *testing.T) {
	r := newRig(t, "echo", "")
	r.manifest().ShutdownTimeout = time.Hour
	p, err := r.dialect.Open(t.Context(), r.found, r.settings, r.runtime)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	all := r.received()
	if last := all[len(all)-1]; last.Method != "shutdown" || string(last.Params) != `{}` || last.ID == nil {
		t.Errorf("last it was sent %+v", last)
	}
	if st := p.Status(); st.Pid != 0 || st.Health != "stopped" {
		t.Errorf("status %+v", st)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("a second close: %v", err)
	}
	if _, err := p.(dialect.MethodCaller).CallMethod(t.Context(), "fake.echo", nil); !errors.Is(err, hook.Unavailable) {
		t.Errorf("a call after the close: %v", err)
	}
	if strings.Contains(r.log.String(), "WARN") {
		t.Errorf("log:\n%s", r.log)
	}
}

// TestARefusalOfShutdownIsAnAnswer: after an error to shutdown, stdin is closed at once.
func TestARefusalOfShutdownIsAnAnswer(t *testing.T) {
	r := newRig(t, "refuses-shutdown", "")
	r.manifest().ShutdownTimeout = time.Hour
	p := r.open()
	process := must(p.kept.Get()).process
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if exit := process.Exit(); exit != (proc.Exit{}) || strings.Contains(r.log.String(), "WARN") {
		t.Errorf("exit %s, log:\n%s", exit, r.log)
	}
}

// TestAPluginThatDoesNotExit: a process that outlives shutdown_timeout_sec is stopped by signals,
// whether it answered or not.
func TestAPluginThatDoesNotExit(t *testing.T) {
	for _, behaviour := range []string{"ignores-shutdown", "answers-shutdown-and-stays"} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, behaviour, "")
			if behaviour == "answers-shutdown-and-stays" {
				r.manifest().ShutdownTimeout = 5 * time.Second // for the answer, on a busy machine
			}
			p, err := r.dialect.Open(t.Context(), r.found, r.settings, r.runtime)
			if err != nil {
				t.Fatal(err)
			}
			process := must(p.(*plugin).kept.Get()).process
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("close: %v", err)
			}
			if exit := process.Exit(); exit.Signal == "" {
				t.Errorf("it ended with %s, not by a signal", exit)
			}
			warned := strings.Contains(r.log.String(), "did not answer shutdown")
			if warned != (behaviour == "ignores-shutdown") {
				t.Errorf("log:\n%s", r.log)
			}
		})
	}
}

// TestCloseEndsCallsUnderWay: calls under way fail as unavailable, not as a crash.
func TestCloseEndsCallsUnderWay(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	failed := make(chan error, 1)
	go func() {
		_, err := p.CallMethod(t.Context(), "fake.hang", nil)
		failed <- err
	}()
	eventually.True(t, "the call is under way", func() bool { return r.count("fake.hang") == 1 })
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-failed; !errors.Is(err, hook.Unavailable) || !strings.Contains(err.Error(), "shut down") {
		t.Errorf("error %v", err)
	}
}

// TestAnImpatientCloseIsQuick: with an ended context, Close stops the process without waiting.
func TestAnImpatientCloseIsQuick(t *testing.T) {
	r := newRig(t, "ignores-shutdown", "")
	r.manifest().ShutdownTimeout = time.Hour
	p := r.open()
	process := must(p.kept.Get()).process
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if exit := process.Exit(); exit == (proc.Exit{Code: -1}) {
		t.Error("the process is still running")
	}
}

// TestCloseWhileItIsDown: Close does not wait for a restart.
func TestCloseWhileItIsDown(t *testing.T) {
	r := newRig(t, "echo", "")
	p := r.open()
	r.manifest().Env[fakeVariable] = "hang-at-initialize" // from now on
	if _, err := p.CallMethod(t.Context(), "fake.crash", nil); !errors.Is(err, hook.Crash) {
		t.Fatalf("error %v", err)
	}
	eventually.True(t, "the plugin is being restarted", func() bool { return r.count("initialize") == 2 })
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestTimeoutLeavesThePluginAlive: after a call that timed out, the plugin goes on in the same
// process and answers the next call.
func TestTimeoutLeavesThePluginAlive(t *testing.T) {
	r := newRig(t, "echo", "")
	r.settings.ToolTimeout = 50 * time.Millisecond
	p := r.open()
	if _, err := p.CallMethod(t.Context(), "fake.hang", nil); !errors.Is(err, hook.Timeout) {
		t.Errorf("error %v", err)
	}
	p.settings.ToolTimeout = 0
	if result, err := p.CallMethod(t.Context(), "fake.echo", json.RawMessage(`{"n":1}`)); err != nil || string(result) != `{"n":1}` {
		t.Errorf("result %s, %v", result, err)
	}
	if st := p.Status(); st.Restarts != 0 {
		t.Errorf("status %+v", st)
	}
}

// TestStderrIsLogged: the plugin's stderr is in the log. The suite's stderr-flood tests large
// amounts.
func TestStderrIsLogged(t *testing.T) {
	r := newRig(t, "crash-at-initialize", "")
	_ = r.refused()
	if !strings.Contains(r.log.String(), "no database") {
		t.Errorf("log:\n%s", r.log)
	}
	if _, err := os.Stat(filepath.Join(r.dir, receivedFile)); err != nil {
		t.Error(err)
	}
}
