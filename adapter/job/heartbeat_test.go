package job_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
)

// TestHeartbeat: the file is written before and after each run. A failure does not change the time
// of the last success.
func TestHeartbeat(t *testing.T) {
	began := time.Date(2026, 11, 15, 6, 0, 0, 0, time.Local)
	r := newRig(t, began)
	r.agent("beats", `cat "$AGENT_HEARTBEAT_FILE"; exit $(cat "$MARK/code")`, hourly)
	r.open()
	r.runner.StateDir = filepath.Join(r.home, "state")
	path := filepath.Join(r.home, "state", "beats", "period_last-day.heartbeat.json")
	run := func(code string) (during, after map[string]any) {
		t.Helper()
		r.write("code", code, 0o644)
		run, err := r.now("beats", job.RunOptions{Attempts: 1})
		must(t, err)
		must(t, json.Unmarshal([]byte(strings.Join(r.printed(run.ID), "\n")), &during))
		data, err := os.ReadFile(path)
		must(t, err)
		must(t, json.Unmarshal(data, &after))
		return during, after
	}
	at := func(offset time.Duration) (float64, string) {
		then := began.Add(offset)
		return float64(then.Unix()), then.Format("2006-01-02T15:04:05-0700")
	}
	same := func(what string, got map[string]any, want ...any) {
		t.Helper()
		keys := []string{"name", "slug", "args", "started_at", "started_at_iso", "finished_at", "finished_at_iso", "exit_code", "duration_seconds",
			"last_success_at", "last_success_at_iso"}
		if len(got) != len(keys) {
			t.Errorf("%s: its keys are %v", what, got)
		}
		for i, key := range keys[3:] {
			if value, ok := got[key]; !ok || value != want[i] {
				t.Errorf("%s: %s is %v, want %v", what, key, value, want[i])
			}
		}
		if got["name"] != "beats" || got["slug"] != "period_last-day" || !slices.Equal(got["args"].([]any), []any{"--period", "last-day"}) {
			t.Errorf("%s: %v", what, got)
		}
	}

	one, oneISO := at(0)
	during, after := run("0")
	same("during the first run", during, one, oneISO, nil, nil, nil, nil, nil, nil)
	same("after it", after, one, oneISO, one, oneISO, 0.0, 0.0, one, oneISO)

	r.clock.set(began.Add(time.Hour))
	two, twoISO := at(time.Hour)
	during, after = run("7")
	same("during a run that fails", during, two, twoISO, nil, nil, nil, nil, one, oneISO)
	same("after a failure", after, two, twoISO, two, twoISO, 7.0, 0.0, one, oneISO)

	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	t.Run("a dry run does not change the file", func(t *testing.T) {
		before, err := os.ReadFile(path)
		must(t, err)
		for _, m := range r.loaded.Manifests {
			if m.Agent.Name == "beats" {
				r.runner.DryRun(t.Context(), m, &m.Schedules[0])
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(before) {
			t.Errorf("%s, %v", now, err)
		}
	})
	t.Run("a link in its place is replaced and not read", func(t *testing.T) {
		target := r.write("target.json", `{"last_success_at":1}`, 0o600)
		must(t, os.Remove(path))
		if err := os.Symlink(target, path); err != nil {
			if runtime.GOOS == "windows" { // creating a link needs a privilege there
				t.Skipf("this user cannot create links: %v", err)
			}
			t.Fatal(err)
		}
		r.clock.set(began.Add(2 * time.Hour))
		_, after := run("7")
		if after["last_success_at"] != nil {
			t.Errorf("the target of the link was read: %v", after)
		}
		if text, err := os.ReadFile(target); err != nil || string(text) != `{"last_success_at":1}` {
			t.Errorf("the link was followed: %s, %v", text, err)
		}
	})
}

// TestOnFailureHearsOfARecovery: a plugin of on_failure that lists no events gets every event
// except success. The message about a failed sink says that the agent succeeded.
func TestOnFailureHearsOfARecovery(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("wobbly", `[ -e "$MARK/well" ] || { touch "$MARK/well"; exit 1; }`, "[[on_failure]]\nplugin = \"tell\"\n[[on_success]]\nplugin = \"bad\"\n"+hourly)
	r.plugin("tell", "notify", `printf '%s\n' "$payload" >> "$MARK/heard"; echo '{"ok":true}'`)
	r.plugin("bad", "sink", `echo '{"ok":false,"error":"disk full"}'`)
	r.open()
	for range 2 {
		if _, err := r.now("wobbly", job.RunOptions{Attempts: 1}); err != nil {
			t.Fatal(err)
		}
		r.clock.set(r.clock.Now().Add(time.Second))
	}
	must(t, r.teller.Close())
	var heard []string
	for _, line := range r.lines("heard") {
		var p struct{ Event, Message string }
		must(t, json.Unmarshal([]byte(line), &p))
		heard = append(heard, p.Event+": "+strings.Split(p.Message, "\n")[0])
	}
	equal(t, "heard", heard, []string{
		"attempt_failed: wobbly (hourly): attempt 1 of 1 failed", "given_up: wobbly (hourly): given up after 1 attempt",
		"recovered: wobbly (hourly) has recovered", "attempt_failed: wobbly (hourly) succeeded, but a sink failed"})
}
