//go:build unix

package job_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/engine"
	"github.com/patchbay-dev/patchbay/internal/engine/enginetest/embedded"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/soak"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

const (
	hurry     = 12 // minutes on the clock of the schedules in one real minute
	daemonEnv = "PATCHBAY_TEST_JOB_DAEMON"
	beat      = time.Second
)

// A hurriedClock runs faster than real time, and shows the same time in every process.
type hurriedClock struct{ since time.Time }

func (c hurriedClock) Now() time.Time { return c.since.Add(time.Since(c.since) * hurry) }

func (c hurriedClock) Sleep(ctx context.Context, _, until time.Time) {
	timer := time.NewTimer(until.Sub(c.Now()) / hurry)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// noPlugins is a host without plugins.
type noPlugins struct{}

func (noPlugins) Fire(_ context.Context, p hook.Point, _ any) (*hook.Outcome, error) {
	return &hook.Outcome{Point: p, Verdict: hook.Continue}, nil
}

func TestMain(m *testing.M) {
	for env, be := range map[string]func(string) error{daemonEnv: beDaemon, heapEnv: printHeap} {
		dir := os.Getenv(env)
		if dir == "" {
			continue
		}
		if err := be(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	verify(m)
}

// beDaemon is the program of a daemon: it runs a scheduler.
func beDaemon(home string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	since, err := strconv.ParseInt(os.Getenv("SINCE"), 10, 64)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	e, err := engine.Open(ctx, engine.Options{Dir: filepath.Join(home, "engine"), Logger: log})
	if err != nil {
		return err
	}
	defer e.Close()
	procs := proc.NewGroup(log)
	defer procs.Close()
	store := job.NewStore(e)
	store.SetBeat(beat)
	r := &job.Runner{Host: noPlugins{}, Store: store, Procs: procs, Environ: os.Environ(), Logger: log, Clock: hurriedClock{time.Unix(since, 0)}}
	loaded := job.LoadDirs([]string{filepath.Join(home, "agents")})
	return job.NewScheduler(r, func() []*job.Manifest { return loaded.Manifests }).Run(ctx)
}

// The agent writes a line each time it runs, and another line if its schedule is running already. A
// file named after its parent process says that it has begun.
const onceAgent = `
exec 9>"$MARK/lock/$AGENT_SCHEDULE_ID"
flock -n 9 || echo "$AGENT_SCHEDULE_ID" >> "$MARK/twice"
echo ran >> "$MARK/ran/$AGENT_SCHEDULE_ID"
touch "$MARK/began/$PPID"
sleep 1
echo ended >> "$MARK/ended/$AGENT_SCHEDULE_ID"
`

// schedules returns how many schedules the agent has, and kills how often a daemon is killed.
func schedules() int { return soak.Times(40, 200) }
func kills() int     { return soak.Times(2, 6) }

// TestEveryTickRunsOnce runs two daemons on one engine, and kills one or the other several times.
// Each tick has one record, the agent ran as often as the records say, and no schedule ran twice at
// once.
func TestEveryTickRunsOnce(t *testing.T) {
	t.Parallel()
	plugtest.NeedTool(t, "flock")
	r := newRig(t, time.Now())
	for _, dir := range []string{"lock", "ran", "began", "ended"} {
		if err := os.MkdirAll(filepath.Join(r.home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var manifest strings.Builder
	manifest.WriteString("[agent]\nname = \"many\"\n[run]\ncommand = \"/bin/sh\"\nargs = [\"agent.sh\"]\n[defaults]\nretry_backoff_minutes = [1]\n")
	for i := range schedules() {
		fmt.Fprintf(&manifest, "[[schedules]]\nid = \"s%03d\"\ntype = \"interval\"\ninterval_minutes = 1\n", i)
	}
	r.write("agents/many/agent.toml", manifest.String(), 0o644)
	r.write("agents/many/agent.sh", onceAgent, 0o644)

	since := time.Now().Unix()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{daemonEnv + "=" + r.home, "MARK=" + r.home, "PATH=" + os.Getenv("PATH"), "SINCE=" + strconv.FormatInt(since, 10)}
		cmd.Stderr = testWriter{t}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	daemons := []*exec.Cmd{start(), start()}
	for round := range kills() {
		victim := round % 2
		r.awaitRun(daemons[victim].Process.Pid)
		_ = daemons[victim].Process.Kill() // it is running: nothing else ends it
		_ = daemons[victim].Wait()
		daemons[victim] = start()
	}
	r.awaitAll()
	for _, d := range daemons {
		_ = d.Process.Signal(syscall.SIGTERM)
		if err := d.Wait(); err != nil {
			t.Errorf("a daemon that was told to end: %v", err)
		}
	}
	r.audit()
}

// awaitRun waits until an agent of this daemon begins to run. A daemon that is killed then has a
// run in progress.
func (r *rig) awaitRun(daemon int) {
	r.t.Helper()
	path := filepath.Join(r.home, "began", strconv.Itoa(daemon))
	_ = os.Remove(path) // of runs that began before; there may be none
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			r.t.Fatal("the daemon has run no agent for a minute")
		}
	}
}

// awaitAll waits until every schedule has run once more, to its end. By then the runs of all killed
// daemons have been reaped. A run that is still in progress when the daemons end would count as
// stopped.
func (r *rig) awaitAll() {
	r.t.Helper()
	ran := func(i int) int { return len(r.lines(fmt.Sprintf("ended/s%03d", i))) }
	before := make([]int, schedules())
	for i := range before {
		before[i] = ran(i)
	}
	deadline := time.Now().Add(3 * time.Minute)
	for i := range before {
		for ; ran(i) == before[i]; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				r.t.Fatalf("schedule s%03d has not run for three minutes", i)
			}
		}
	}
}

// audit compares the records with the lines that the agent wrote.
func (r *rig) audit() {
	t := r.t
	t.Helper()
	e := embedded.Engine(t, filepath.Join(r.home, "engine"))
	runs, err := job.NewStore(e).Runs(t.Context(), "many", 0)
	if err != nil {
		t.Fatal(err)
	}
	type count struct{ ticks, whole, cut, open int }
	counts := make(map[string]*count)
	results := make(map[job.Result]int)
	seen := make(map[string]bool)
	for _, run := range runs {
		c := counts[run.Schedule]
		if c == nil {
			c = &count{}
			counts[run.Schedule] = c
		}
		tick := run.Schedule + run.Tick.String()
		if seen[tick] {
			t.Errorf("the tick %s has two records", tick)
		}
		seen[tick] = true
		c.ticks++
		for _, a := range run.Attempts {
			results[a.Result]++
			switch a.Result {
			case job.CutOff, job.Stopped: // the program may not have started
				c.cut++
			case "":
				c.open++
			default:
				c.whole++
			}
		}
	}
	for id, c := range counts {
		ran := len(r.lines("ran/" + id))
		if ran < c.whole || ran > c.whole+c.cut+c.open {
			t.Errorf("%s ran %d times; the records have %d attempts that ended, %d that were cut off and %d under way", id, ran, c.whole, c.cut, c.open)
		}
	}
	if twice := r.lines("twice"); twice != nil {
		t.Errorf("ran twice at once: %v", twice)
	}
	if len(counts) != schedules() || results[job.OK] < schedules() || results[job.CutOff] == 0 {
		t.Errorf("%d schedules have run, with these results: %v", len(counts), results)
	}
	t.Logf("%d runs of %d schedules: %v", len(runs), len(counts), results)
}
