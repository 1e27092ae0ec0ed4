package job_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/notify"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// A fakeClock stands still until a test sets it.
type fakeClock struct {
	mu       sync.Mutex // protects the fields below
	now      time.Time
	sleepers map[chan struct{}]time.Time

	beforeSleep func(until time.Time) // called as a sleep begins
}

func newFakeClock(at time.Time) *fakeClock {
	return &fakeClock{now: at, sleepers: make(map[chan struct{}]time.Time)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, now, until time.Time) {
	if c.beforeSleep != nil {
		c.beforeSleep(until)
	}
	c.mu.Lock()
	if !until.After(c.now) || c.now.Before(now) {
		c.mu.Unlock()
		return
	}
	wake := make(chan struct{})
	c.sleepers[wake] = until
	c.mu.Unlock()
	select {
	case <-wake:
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.sleepers, wake)
		c.mu.Unlock()
	}
}

// soonest returns when the first sleeper wakes up; zero: none sleeps.
func (c *fakeClock) soonest() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	var at time.Time
	for _, until := range c.sleepers {
		if at.IsZero() || until.Before(at) {
			at = until
		}
	}
	return at
}

// set sets the clock and wakes the sleepers whose time has come.
func (c *fakeClock) set(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to
	for wake, until := range c.sleepers {
		if !until.After(to) {
			close(wake)
			delete(c.sleepers, wake)
		}
	}
}

// jump sets the clock and wakes all sleepers, as the system's clock does.
func (c *fakeClock) jump(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = to
	for wake := range c.sleepers {
		close(wake)
		delete(c.sleepers, wake)
	}
}

// A rig has everything that is needed to run jobs, in its own home directory.
type rig struct {
	t       *testing.T
	home    string
	clock   *fakeClock
	store   *job.Store
	runner  *job.Runner
	loaded  job.Loaded
	ended   chan struct{}
	stop    context.CancelFunc
	teller  *job.Reporter
	secrets map[string]string

	mu   sync.Mutex // protects told
	told []string   // the events that the runner reported, with the time of day
}

func newRig(t *testing.T, at time.Time) *rig {
	return &rig{t: t, home: t.TempDir(), clock: newFakeClock(at), secrets: make(map[string]string)}
}

func (r *rig) write(path, text string, mode os.FileMode) string {
	r.t.Helper()
	path = filepath.Join(r.home, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// open starts the engine, the plugins and the runner.
func (r *rig) open() {
	r.t.Helper()
	t := r.t
	log := slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	env := []string{"HOME=" + r.home, "PATH=" + os.Getenv("PATH"), "DOTAGENT_PLUGIN_PATH=" + filepath.Join(r.home, "plugins"), "MARK=" + r.home}
	e, err := engine.Open(t.Context(), engine.Options{Dir: filepath.Join(r.home, "engine")})
	must(t, err)
	host, err := pluginhost.Open(t.Context(), &pluginhost.Options{Environ: env, Dir: r.home, Logger: log, Dialects: []string{"dotagent"}})
	must(t, err)
	procs := proc.NewGroup(log)
	r.loaded = job.LoadDirs([]string{filepath.Join(r.home, "agents")})
	for _, b := range r.loaded.Broken {
		t.Fatalf("%s: %v", b.Path, b.Err)
	}
	r.store = job.NewStore(e)
	r.teller = job.NewReporter(job.ReporterOptions{Host: host, Logger: log,
		Notify: notify.Options{Procs: procs, Environ: env, Lookup: func(name string) (string, bool) { v, ok := r.secrets[name]; return v, ok }}})
	r.runner = &job.Runner{Host: host, Store: r.store, Procs: procs, Environ: env, Logger: log, Clock: r.clock, Report: func(n job.Report) {
		r.mu.Lock()
		r.told = append(r.told, n.At.UTC().Format("15:04 ")+string(n.Event))
		r.mu.Unlock()
		r.teller.Report(n)
	}}
	t.Cleanup(func() {
		must(t, r.teller.Close())
		must(t, procs.Close())
		must(t, host.Close())
		must(t, e.Close())
	})
}

// schedule starts a scheduler.
func (r *rig) schedule() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.ended = cancel, make(chan struct{})
	s := job.NewScheduler(r.runner, func() []*job.Manifest { return r.loaded.Manifests })
	go func() {
		defer close(r.ended)
		if err := s.Run(ctx); err != nil {
			r.t.Errorf("the scheduler: %v", err)
		}
	}()
	r.t.Cleanup(func() { cancel(); <-r.ended })
}

// live moves the clock forward to a time. Whenever nothing is in progress, it sets the clock to the
// time at which something is due next.
func (r *rig) live(until time.Time) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if time.Now().After(deadline) {
			r.t.Fatalf("the day did not end: it is %v", r.clock.Now())
		}
		next, settled := r.next(until)
		if !settled {
			time.Sleep(2 * time.Millisecond) // real processes take real time
			continue
		}
		if next.After(until) {
			r.clock.set(until)
			return
		}
		r.clock.set(next)
	}
}

// next returns when something is due next, according to the stored states. settled is false while
// something is in progress, and while the planner does not sleep until that time.
func (r *rig) next(until time.Time) (next time.Time, settled bool) {
	states, err := r.store.States(r.t.Context())
	must(r.t, err)
	now := r.clock.Now()
	next = until.Add(time.Hour)
	soonest := func(at time.Time) {
		if !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	for _, m := range r.loaded.Manifests {
		for i := range m.Schedules {
			st, ok := states[m.Agent.Name+"/"+m.Schedules[i].ID]
			if !ok || st.Active != "" && st.NextAt.IsZero() {
				return next, false
			}
			last := st.Since
			if st.LastTick.After(last) {
				last = st.LastTick
			}
			soonest(m.Schedules[i].Next(last))
			soonest(st.NextAt)
			soonest(job.StaleAt(st, &m.Schedules[i]))
		}
	}
	if !next.After(now) { // due, but not handled yet
		return next, false
	}
	return next, next.After(until) || r.clock.soonest().Equal(next)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// plugin installs a dotagent plugin in sh. invoke gets the plugin's stdin as $payload, and prints
// the answer.
func (r *rig) plugin(name, kind, invoke string) {
	r.write("plugins/dotagent-plugin-"+name, `#!/bin/sh
case "$1" in
info) echo '{"name":"`+name+`","kinds":["`+kind+`"]}' ;;
validate) cat >/dev/null; echo '{"ok":true}' ;;
invoke) payload=$(cat); `+invoke+` ;;
esac
`, 0o755)
}

// lines returns the lines of a file that plugins append to.
func (r *rig) lines(path string) []string {
	data, err := os.ReadFile(filepath.Join(r.home, path))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// A mailbox is an HTTP endpoint that stores the requests it gets.
type mailbox struct {
	*httptest.Server
	mu    sync.Mutex // protects posts
	posts []string
}

func newMailbox(t *testing.T) *mailbox {
	m := &mailbox{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		must(t, err)
		m.mu.Lock()
		m.posts = append(m.posts, req.URL.Path+" "+string(body))
		m.mu.Unlock()
		fmt.Fprint(w, `{"ok":true,"status":1}`)
	}))
	t.Cleanup(m.Close)
	return m
}

func (m *mailbox) all() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.posts)
}

const dayManifest = `
[agent]
name = "report"
timeout_seconds = 2

[run]
command = "/bin/sh"
args = ["agent.sh"]

[defaults]
max_retries = 3
retry_backoff_minutes = [5, 15]
stale_after_minutes = 120

[[schedules]]
id = "quarterly"
type = "cron"
weekdays = [0, 1, 2, 3, 4, 5, 6]
hours = [0, 6, 12, 18]
minute = 0
timezone = "UTC"

[[preflight]]
plugin = "vpn"

[[on_success]]
plugin = "store"
config = { page = "today" }

[[on_failure]]
plugin = "pager"

[[notifiers]]
driver = "slack"
webhook_url = "${HOOK}/slack"

[[notifiers]]
driver = "ntfy"
base_url = "${HOOK}"
topic = "agents"
events = ["given_up", "recovered", "stale"]

[[notifiers]]
driver = "pushover"
base_url = "${HOOK}/pushover"
token = "${TOKEN}"
user = "u"
events = ["given_up"]

[[notifiers]]
driver = "telegram"
base_url = "${HOOK}/telegram"
bot_token = "${TOKEN}"
chat_id = "1"
events = ["timed_out"]

[[notifiers]]
driver = "plugin"
name = "relay"
config = { key = "${TOKEN}", list = ["$${x}"], channel = 1234567890123456789, url = "https://h/?a&b=<c>" }
events = ["success", "recovered"]
`

// The agent fails from 06:00 to 07:00, and takes longer than its timeout at 18:00.
const dayAgent = `
minute=$(( AGENT_START_EPOCH % 86400 / 60 ))
echo "report of minute $minute"
[ $minute -ge 360 ] && [ $minute -lt 420 ] && { echo "no data" >&2; exit 3; }
[ $minute -eq 1080 ] && exec sleep 30
exit 0
`

// TestADay lets a day pass in seconds: schedules, a failing agent, backoff, given up, stale, a
// refused preflight, recovery and a timeout. It checks the exact events at real plugins and real
// endpoints.
func TestADay(t *testing.T) {
	r := newRig(t, time.Date(2026, 3, 2, 23, 59, 30, 0, time.UTC))
	box := newMailbox(t)
	r.secrets["HOOK"], r.secrets["TOKEN"] = box.URL, "hush"
	r.write("agents/report/agent.toml", dayManifest, 0o644)
	r.write("agents/report/agent.sh", dayAgent, 0o644)
	// The preflight refuses once if the file refuse exists.
	r.plugin("vpn", "preflight", `if rm "$MARK/refuse" 2>/dev/null; then echo '{"ok":false,"error":"the VPN is down","suggest":"run: vpn up"}'; else echo '{"ok":true}'; fi`)
	r.plugin("store", "sink", `printf '%s\n' "$payload" >> "$MARK/stored"; echo '{"ok":true}'`)
	r.plugin("pager", "notify", `printf '%s\n' "$payload" | sed 's/.*"event":"\([a-z_]*\)".*/\1/' >> "$MARK/paged"; echo '{"ok":true}'`)
	r.plugin("relay", "notify", `printf '%s\n' "$payload" | sed 's/.*"config"://' >> "$MARK/given"; printf '%s\n' "$payload" | sed 's/.*"event":"\([a-z_]*\)".*/\1/' >> "$MARK/relayed"; echo '{"ok":true}'`)
	r.open()
	r.schedule()

	day := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	r.live(day.Add(11 * time.Hour))
	r.write("refuse", "", 0o644)
	r.live(day.Add(23 * time.Hour))
	r.stop()
	<-r.ended
	must(t, r.teller.Close())

	want := []string{
		"00:00 success",
		"06:00 attempt_failed", "06:05 attempt_failed", "06:20 attempt_failed", "06:20 given_up",
		"08:00 stale",
		"12:00 attempt_failed", "12:05 success", "12:05 recovered",
		"18:00 timed_out", "18:05 success", "18:05 recovered",
	}
	equal(t, "the day", r.told, want)
	equal(t, "on_failure", r.lines("paged"), []string{"attempt_failed", "attempt_failed", "attempt_failed", "given_up", "stale",
		"attempt_failed", "recovered", "timed_out", "recovered"})
	equal(t, "driver plugin", r.lines("relayed"), []string{"success", "success", "recovered", "success", "recovered"})
	if given := r.lines("given"); len(given) == 0 || given[0] != `{"channel":1234567890123456789,"key":"hush","list":["${x}"],"url":"https://h/?a&b=<c>"}}` {
		t.Errorf("the plugin's config: %q", given)
	}
	if stored := r.lines("stored"); len(stored) != 3 || !strings.HasPrefix(stored[0],
		`{"kind":"sink","agent":"report","schedule":"quarterly","event":"success","message":"report of minute 0\n","config":{"page":"today"}}`) {
		t.Errorf("sink: %q", stored)
	}
	r.checkMail(box.all(), want)
	r.checkRuns()
}

// checkMail checks the requests to the endpoints.
func (r *rig) checkMail(posts, want []string) {
	t := r.t
	t.Helper()
	of := func(path string) (bodies []string) {
		for _, p := range posts {
			if at, body, _ := strings.Cut(p, " "); strings.HasPrefix(at, path) {
				bodies = append(bodies, body)
			}
		}
		return bodies
	}
	// A built-in notifier without events gets one message if two events happen at once, which is
	// three times on this day.
	if slack := of("/slack"); len(slack) != len(want)-3 {
		t.Errorf("slack was told %d times, want %d: %q", len(slack), len(want)-3, slack)
	} else if !strings.Contains(slack[5], "vpn up") || !strings.Contains(slack[5], "the VPN is down") {
		t.Errorf("the suggestion is not in the notification: %s", slack[5])
	} else if !strings.Contains(slack[3], "given up after 3 attempts") || !strings.Contains(slack[3], "no data") {
		t.Errorf("given_up does not say what failed: %s", slack[3])
	}
	ntfy := 0
	for _, p := range posts {
		if strings.HasPrefix(p, "/ ") || strings.Contains(p, `"topic":"agents"`) {
			ntfy++
		}
	}
	if ntfy != 4 {
		t.Errorf("ntfy was told %d times, want 4: %q", ntfy, posts)
	}
	if got := of("/pushover"); len(got) != 1 {
		t.Errorf("pushover was told %d times, want 1: %q", len(got), got)
	}
	if got := of("/telegram"); len(got) != 1 {
		t.Errorf("telegram was told %d times, want 1: %q", len(got), got)
	}
}

// checkRuns checks the stored runs.
func (r *rig) checkRuns() {
	t := r.t
	t.Helper()
	runs, err := r.store.Runs(t.Context(), "report", 0)
	must(t, err)
	var got []string
	for _, run := range slices.Backward(runs) {
		var results []string
		for _, a := range run.Attempts {
			results = append(results, string(a.Result))
		}
		got = append(got, string(run.Status)+" "+strings.Join(results, ","))
	}
	equal(t, "history", got, []string{"succeeded ok", "given_up failed,failed,failed", "succeeded refused,ok", "succeeded timed_out,ok"})
	if last := runs[0].Attempts[0]; last.ExitCode == nil || *last.ExitCode != 124 {
		t.Errorf("a timed-out agent has exit code 124: %+v", last)
	}
	var lines []string
	must(t, r.store.Output(t.Context(), runs[2].ID, func(l job.Line) error {
		lines = append(lines, fmt.Sprintf("%d %s %s", l.Attempt, l.Stream, l.Text))
		return nil
	}))
	if !slices.Contains(lines, "1 stdout report of minute 360") || !slices.Contains(lines, "3 stderr no data") {
		t.Errorf("output: %q", lines)
	}
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", what, encode(got), encode(want))
	}
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
