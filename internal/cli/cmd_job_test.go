package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/daemon"
)

// TestRunsOnANarrowScreen: the id of a run is never cut, and errors can be read on every screen.
func TestRunsOnANarrowScreen(t *testing.T) {
	began := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)
	good := job.Run{ID: "disk-report/daily/20261116T192950.287Z-manual", Status: job.Succeeded, Most: 1, Attempts: make([]job.Attempt, 1), Began: began, Ended: began.Add(time.Second)}
	bad := good
	bad.Status, bad.Attempts = job.GivenUp, []job.Attempt{{Error: "exit code 3: " + strings.Repeat("no space left ", 4)}}
	for width, want := range map[int]string{0: "  ERROR", 200: "  ERROR", 80: "given up, 1 of 1, 1.00 s", 40: "given up, 1 of 1, 1.00 s"} {
		for name, runs := range map[string][]job.Run{"all good": {good}, "one bad": {good, bad}} {
			c := newConsole(t, "NO_COLOR=1")
			c.Width, c.OutTTY = width, width > 0
			a := &app{IO: c.IO, out: &output{w: &c.out}}
			if err := a.showRuns(runs); err != nil {
				t.Fatal(err)
			}
			got := c.out.String()
			if strings.Count(got, good.ID) != len(runs) || strings.Contains(got, "…") {
				t.Errorf("%s, %d columns:\n%s", name, width, got)
			}
			if name == "one bad" && !strings.Contains(got, want) {
				t.Errorf("%d columns: no %q:\n%s", width, want, got)
			}
		}
	}
}

// TestAgentThatTheDaemonHasNotRead: the overview does not say that no agent has a schedule while
// the list below it says when one is due.
func TestAgentThatTheDaemonHasNotRead(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	now := time.Date(2026, 11, 16, 6, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		next *time.Time
		want string
	}{{&now, "1 agent; daemon 7 has not scheduled them yet"}, {nil, "1 agent; none is scheduled (daemon 7)"}} {
		o := jobOverview{Daemon: &httpapi.DaemonStatus{PID: 7}, Agents: []daemon.JobInfo{{Agent: "x", Next: tc.next}}}
		if got := a.jobSummary(o, now); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// TestLogsOfAWaitingRun: the logs of a run that has no output and waits for an attempt say until
// when it waits, and why the last attempt failed.
func TestLogsOfAWaitingRun(t *testing.T) {
	next := time.Date(2026, 11, 16, 6, 5, 0, 0, time.Local)
	run := job.Run{ID: "lost/each/20261116T060000.000Z", Status: job.Waiting, Most: 3, NextAt: next, Attempts: []job.Attempt{{Number: 1, Error: "cannot start ./lost.sh: no such file"}}}
	c := newConsole(t)
	a := &app{IO: c.IO, out: &output{w: &c.out}}
	if err := a.endLogs(&run, 0, jobLogsFlags{}); err != nil {
		t.Fatal(err)
	}
	want := "has printed nothing yet; it waits until 2026-11-16 06:05:00 for attempt 2 of 3; attempt 1 failed: cannot start ./lost.sh: no such file\n"
	if !strings.Contains(c.out.String(), want) {
		t.Errorf("no %q:\n%s", want, c.out.String())
	}
}

// TestCancelledRuns: the reason of a cancelled run is a part of the sentence.
func TestCancelledRuns(t *testing.T) {
	for reason, want := range map[string]string{
		"cancelled by process 7 on vm": "was cancelled by process 7 on vm", "interrupt signal received": "was cancelled by Ctrl-C", "terminated signal received": "was cancelled by SIGTERM", "lost": "was cancelled: lost",
	} {
		if got := stateInWords(&job.Run{Status: job.Cancelled, Reason: reason}, false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTheLastLineOfLogsIsWrapped: the remark that ends the logs of a run is broken at words.
func TestTheLastLineOfLogsIsWrapped(t *testing.T) {
	run := job.Run{ID: "disk-report/daily/20261116T192950.287Z-manual", Status: job.GivenUp, Most: 1, Attempts: []job.Attempt{{Error: "exit code 3: " + strings.Repeat("no space left ", 8)}}}
	for _, raw := range []bool{false, true} {
		c := newConsole(t, "NO_COLOR=1")
		c.Width, c.OutTTY, c.ErrTTY, c.ErrWidth = 80, true, true, func() int { return 80 }
		a := &app{IO: c.IO, out: &output{w: &c.out}}
		if err := a.endLogs(&run, 0, jobLogsFlags{raw: raw}); err != nil {
			t.Fatal(err)
		}
		got := c.out.String() + c.err.String()
		for line := range strings.Lines(got) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
				t.Errorf("raw %v: wider than the screen: %q", raw, line)
			}
		}
		if text := strings.Join(strings.Fields(got), " "); !strings.Contains(text, strings.TrimSpace(run.Attempts[0].Error)) {
			t.Errorf("raw %v: words were cut:\n%s", raw, got)
		}
	}
}

func TestUntil(t *testing.T) {
	for d, want := range map[time.Duration]string{-time.Minute: "now", 0: "now", 400 * time.Millisecond: "now", time.Second: "in 1s", 5 * time.Minute: "in 5m"} {
		if got := until(d); got != want {
			t.Errorf("until(%s) = %q, want %q", d, got, want)
		}
	}
}

// TestWhenAnAgentRuns: each answer to "When?", and how the command repeats it.
func TestWhenAnAgentRuns(t *testing.T) {
	for answer, want := range map[string]string{
		"06:00": "every day at 06:00", "every 15": "every 15 minutes", "every 15m": "every 15 minutes", "every 15 minutes": "every 15 minutes",
		"every 1 minute": "every minute", "every minute": "every minute", "30 2 * * 1-5": "at the times of 30 2 * * 1-5",
	} {
		var d jobDraft
		if err := d.schedule(answer); err != nil || d.when() != want {
			t.Errorf("%s: %q, %v", answer, d.when(), err)
		}
	}
	if err := new(jobDraft).schedule("every 2 hours"); err == nil {
		t.Error("hours were taken for minutes")
	}
}

// TestAFailedAttemptAt80Columns: no line about a failed attempt and the wait for the next one is
// wider than the terminal.
func TestAFailedAttemptAt80Columns(t *testing.T) {
	c := newConsole(t, "NO_COLOR=1")
	c.Width, c.OutTTY = 80, true
	w := waiter{app: &app{IO: c.IO, out: &output{w: &c.out}}}
	failed := job.Attempt{Number: 1, Error: strings.Repeat("no such file ", 10)}
	w.wait(t.Context(), job.Run{Attempts: []job.Attempt{failed}, Most: 2, NextAt: time.Now().Add(time.Hour)})
	if strings.Count(c.out.String(), "file") != 10 {
		t.Error(c.out.String())
	}
	for line := range strings.Lines(c.out.String()) {
		if len(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("too wide: %s", line)
		}
	}
}
