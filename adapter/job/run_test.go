package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/job"
	"github.com/patchbay-dev/patchbay/internal/notify"
)

// agent installs an agent whose program is a shell script.
func (r *rig) agent(name, script, more string) {
	r.write("agents/"+name+"/agent.toml", "[agent]\nname = \""+name+"\"\n[run]\ncommand = \"/bin/sh\"\nargs = [\"agent.sh\"]\n"+more, 0o644)
	r.write("agents/"+name+"/agent.sh", script, 0o644)
}

// now runs an agent's first schedule.
func (r *rig) now(name string, o job.RunOptions) (job.Run, error) {
	r.t.Helper()
	for _, m := range r.loaded.Manifests {
		if m.Agent.Name == name {
			return r.runner.RunNow(r.t.Context(), m, &m.Schedules[0], o)
		}
	}
	r.t.Fatalf("no agent %s", name)
	return job.Run{}, nil
}

// printed returns the lines of a run's stdout.
func (r *rig) printed(id string) []string {
	r.t.Helper()
	return r.linesOf(id, "stdout")
}

// linesOf returns the lines of one stream of a run.
func (r *rig) linesOf(id string, stream job.Stream) []string {
	r.t.Helper()
	var lines []string
	must(r.t, r.store.Output(r.t.Context(), id, func(l job.Line) error {
		if l.Stream == stream {
			lines = append(lines, l.Text)
		}
		return nil
	}))
	return lines
}

const hourly = "[[schedules]]\nid = \"hourly\"\ntype = \"interval\"\ninterval_minutes = 60\nargs = [\"--period\", \"last-day\"]\n"

func TestAgentEnvironment(t *testing.T) {
	r := newRig(t, time.Now())
	script := `env | sort; echo "args $*"; pwd; ls -d "$AGENT_TMPDIR"; echo x > "$AGENT_HEARTBEAT_FILE"`
	r.agent("free", script, "[env]\nextra = { COLOUR = \"blue\" }\n"+hourly)
	r.agent("bound", script, "[security]\nenv_passthrough = [\"MAR*\"]\n"+hourly)
	r.open()
	r.runner.Environ = append(r.runner.Environ, "OTHER=1", "OPENAI_API_KEY=hush", "PATCHBAY_HOME=/x", "AGENT_NAME=liar")

	run, err := r.now("free", job.RunOptions{})
	if err != nil || run.Status != job.Succeeded {
		t.Fatalf("%+v, %v", run, err)
	}
	lines := r.printed(run.ID)
	has := func(want string) bool { return slices.Contains(lines, want) }
	for _, want := range []string{"AGENT_NAME=free", "AGENT_HOME=" + filepath.Join(r.home, "agents/free"), "AGENT_DRY_RUN=false", "AGENT_SCHEDULE_ID=hourly",
		`AGENT_ARGV=["--period","last-day"]`, "COLOUR=blue", "OTHER=1", "args --period last-day", filepath.Join(r.home, "agents/free")} {
		if !has(want) {
			t.Errorf("no %q in %q", want, lines)
		}
	}
	for _, line := range lines {
		if strings.Contains(line, "hush") || strings.HasPrefix(line, "PATCHBAY_") || strings.Contains(line, "liar") {
			t.Errorf("the agent saw %q", line)
		}
		if dir, ok := strings.CutPrefix(line, "AGENT_TMPDIR="); ok {
			if !has(dir) {
				t.Errorf("its temporary directory did not exist")
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("its temporary directory is left")
			}
		}
	}
	run, err = r.now("bound", job.RunOptions{})
	if lines = r.printed(run.ID); err != nil || !has("MARK="+r.home) || has("OTHER=1") {
		t.Errorf("env_passthrough: %q, %v", lines, err)
	}
}

// TestTheProgramsOwnPATH: a bare command is looked up in the PATH that the program gets.
func TestTheProgramsOwnPATH(t *testing.T) {
	r := newRig(t, time.Now())
	r.write("tools/own-tool", "#!/bin/sh\necho \"$PATH\"\n", 0o755)
	path := filepath.Join(r.home, "tools") + ":" + os.Getenv("PATH")
	r.write("agents/tooled/agent.toml", "[agent]\nname = \"tooled\"\n[run]\ncommand = \"own-tool\"\n[env]\nextra = { PATH = \""+path+"\" }\n"+hourly, 0o644)
	r.open()
	run, err := r.now("tooled", job.RunOptions{Attempts: 1})
	if err != nil || run.Status != job.Succeeded || !slices.Contains(r.printed(run.ID), path) {
		t.Errorf("%+v, %v", run, err)
	}
}

// TestANotifierThatCannotBeUsed: the warning has the fix, also for a notifier that is a plugin.
func TestANotifierThatCannotBeUsed(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("told", "true", "[[notifiers]]\ndriver = \"plugin\"\nname = \"echoes\"\nconfig = { to = \"${UNSET}\" }\n"+hourly)
	r.open()
	var log strings.Builder
	teller := job.NewReporter(job.ReporterOptions{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Notify: notify.Options{Lookup: func(string) (string, bool) { return "", false }}})
	teller.Routes(&job.Report{Notice: job.Notice{Event: job.Success}, Manifest: r.loaded.Manifests[0], Run: &job.Run{}})
	if !strings.Contains(log.String(), `fix="write UNSET = `) {
		t.Error(log.String())
	}
}

// TestTheTemporaryDirectoryMayBeReadOnly: a program that leaves directories without the right to
// write, such as Go's module cache, has succeeded nevertheless, and its directory is removed. Root
// has that right everywhere.
func TestTheTemporaryDirectoryMayBeReadOnly(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("strict", `cd "$AGENT_TMPDIR" && pwd && mkdir -p a/b && touch a/b/file && chmod 500 a/b a .`, hourly)
	r.open()
	run, err := r.now("strict", job.RunOptions{Attempts: 1})
	if err != nil || run.Status != job.Succeeded {
		t.Fatalf("%+v, %v", run, err)
	}
	equal(t, "notes", r.linesOf(run.ID, "note"), nil)
	for _, dir := range r.printed(run.ID) {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

// TestASkippedPreflightIsNoted: if the configuration lets an agent run although a preflight failed,
// the output of the run has a warning.
func TestASkippedPreflightIsNoted(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("lenient", "echo done", "[[preflight]]\nplugin = \"crash\"\n[[preflight]]\nplugin = \"fine\"\n"+hourly)
	r.plugin("crash", "preflight", "echo boom >&2; exit 9")
	r.plugin("fine", "preflight", `echo '{"ok":true}'`)
	r.write(".config/patchbay/config.toml", "[plugins.crash]\non_failure = \"skip\"\n", 0o644)
	r.open()
	run, err := r.now("lenient", job.RunOptions{})
	if err != nil || run.Status != job.Succeeded {
		t.Fatalf("%+v, %v", run, err)
	}
	equal(t, "notes", r.linesOf(run.ID, "note"), []string{"preflight crash",
		`warning: preflight crash failed, and the agent runs because of on_failure = "skip": plugin crash failed (exit 9): boom`, "preflight fine"})
}

// TestFailuresOfPluginsHaveFixes: a run says what to do about a plugin that failed, as a preflight
// and as a sink.
func TestFailuresOfPluginsHaveFixes(t *testing.T) {
	for name, c := range map[string]struct{ script, fix string }{
		"hangs":   {"exec sleep 60", "`patchbay plugin test hangs` tries it alone; if it only needs longer, set timeout_seconds in its entry of the manifest"},
		"crashes": {"echo boom >&2; exit 9", "`patchbay plugin logs crashes`"},
		"babbles": {"echo hello", "`patchbay plugin test babbles`"},
		"refuses": {`echo '{"ok":false,"error":"no"}'`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, time.Now())
			r.agent("before", "true", "[[preflight]]\nplugin = \""+name+"\"\ntimeout_seconds = 1\n"+hourly)
			r.agent("after", "true", "[[on_success]]\nplugin = \""+name+"\"\ntimeout_seconds = 1\n"+hourly)
			r.agent("told", "exit 1", "[[on_failure]]\nplugin = \""+name+"\"\ntimeout_seconds = 1\n"+hourly)
			r.plugin(name, `preflight","sink","notify`, c.script)
			r.open()
			run, err := r.now("before", job.RunOptions{Attempts: 1})
			if err != nil || run.Attempts[0].Result != job.Refused || !says(run.Attempts[0].Suggest, c.fix) {
				t.Errorf("preflight: %+v, %v", run.Attempts, err)
			}
			run, err = r.now("after", job.RunOptions{Attempts: 1})
			if err != nil || len(run.Attempts[0].SinkFixes) != 1 || !says(run.Attempts[0].SinkFixes[0], c.fix) {
				t.Errorf("sink: %+v, %v", run.Attempts, err)
			}
			n := job.Report{Notice: job.Notice{Event: job.AttemptFailed}, Manifest: r.loaded.Manifests[2], Run: &run}
			err = r.teller.Routes(&n)[0].Sender.Send(t.Context(), n.Message())
			var fixed interface{ Fix() string }
			if !errors.As(err, &fixed) || !says(fixed.Fix(), c.fix) {
				t.Errorf("notifier: %v", err)
			}
		})
	}
}

// TestFailuresOfNotifiersHideVariables: a plugin may repeat its config in an error, for example the
// address that it could not reach. The error that is logged has no value of a variable.
func TestFailuresOfNotifiersHideVariables(t *testing.T) {
	r := newRig(t, time.Now())
	r.secrets["HOOK"] = "https://example.com/hush?a&b"
	r.agent("told", "true", "[[notifiers]]\ndriver = \"plugin\"\nname = \"echoes\"\nconfig = { to = \"${HOOK}\" }\n"+hourly)
	r.plugin("echoes", "notify", `printf '%s' "$payload" | sed 's/.*"to":\("[^"]*"\).*/{"ok":false,"error":\1}/'`)
	r.open()
	n := job.Report{Notice: job.Notice{Event: job.Success}, Manifest: r.loaded.Manifests[0], Run: &job.Run{}}
	err := r.teller.Routes(&n)[0].Sender.Send(t.Context(), n.Message())
	if err == nil || !strings.HasSuffix(err.Error(), ": ***") {
		t.Errorf("%v", err)
	}
}

// TestAnAgentThatTakesTooLong: the run says where its output is, and which key of the
// manifest gives more time.
func TestAnAgentThatTakesTooLong(t *testing.T) {
	r := newRig(t, time.Now())
	r.write("agents/slow/agent.toml", "[agent]\nname = \"slow\"\ntimeout_seconds = 1\n[run]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"exec sleep 60\"]\n"+hourly, 0o644)
	r.open()
	run, err := r.now("slow", job.RunOptions{Attempts: 1})
	if a := run.Attempts[0]; err != nil || a.Result != job.TimedOut || !strings.HasPrefix(a.Suggest, "`patchbay job logs slow` shows") || !strings.Contains(a.Suggest, "timeout_seconds under [agent]") {
		t.Errorf("%+v, %v", a, err)
	}
}

// says reports whether fix has the words of want, or both are empty.
func says(fix, want string) bool { return strings.Contains(fix, want) && (want != "" || fix == "") }

func TestRunNow(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("fails", "echo bad >&2; exit 7", hourly)
	r.agent("sinks", "seq 600", "[[on_success]]\nplugin = \"broken\"\n[[on_success]]\nplugin = \"nowhere\"\n"+hourly)
	r.agent("missing", "", "[[preflight]]\nplugin = \"nowhere\"\n"+hourly)
	r.agent("slow", "echo began; exec sleep 60", hourly)
	r.plugin("broken", "sink", `printf '%s' "$payload" > "$MARK/sunk"; echo '{"ok":false,"error":"disk full"}'`)
	r.open()

	t.Run("a failed attempt, once", func(t *testing.T) {
		run, err := r.now("fails", job.RunOptions{Attempts: 1})
		if err != nil || run.Status != job.GivenUp || len(run.Attempts) != 1 || run.Attempts[0].Error != "exit code 7: bad" || *run.Attempts[0].ExitCode != 7 {
			t.Errorf("%+v, %v", run, err)
		}
		equal(t, "told", r.told, []string{r.told[0][:6] + "attempt_failed", r.told[0][:6] + "given_up"})
	})
	t.Run("a failed sink does not undo the run", func(t *testing.T) {
		r.told = nil
		run, err := r.now("sinks", job.RunOptions{})
		if err != nil || run.Status != job.Succeeded || len(run.Attempts[0].Sinks) != 2 {
			t.Fatalf("%+v, %v", run, err)
		}
		if faults := run.Attempts[0].Sinks; !strings.Contains(faults[0], "disk full") || !strings.Contains(faults[1], "plugin not found: nowhere") {
			t.Errorf("%q", faults)
		}
		if len(r.told) != 3 || !strings.HasSuffix(r.told[0], "success") || !strings.HasSuffix(r.told[2], "attempt_failed") {
			t.Errorf("told %q", r.told)
		}
		var sunk struct{ Message string }
		data, err := os.ReadFile(filepath.Join(r.home, "sunk"))
		must(t, err)
		must(t, json.Unmarshal(data, &sunk))
		if !strings.HasPrefix(sunk.Message, "101\n102\n") || !strings.HasSuffix(sunk.Message, "\n600\n") {
			t.Errorf("a sink gets the last 500 lines, not %.40q…", sunk.Message)
		}
		if n := len(r.printed(run.ID)); n != 600 {
			t.Errorf("%d lines are stored, want all 600", n)
		}
	})
	t.Run("a preflight that is not installed refuses", func(t *testing.T) {
		run, err := r.now("missing", job.RunOptions{Attempts: 1})
		if err != nil || run.Attempts[0].Result != job.Refused || !strings.Contains(run.Attempts[0].Error, "plugin not found: nowhere") {
			t.Errorf("%+v, %v", run, err)
		}
	})
	t.Run("a schedule has one run at a time", func(t *testing.T) {
		began := make(chan struct{})
		r.runner.Watch = func(_ string, l job.Line) {
			if l.Text == "began" {
				close(began)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan job.Run, 1)
		go func() {
			m := r.loaded.Manifests[slices.IndexFunc(r.loaded.Manifests, func(m *job.Manifest) bool { return m.Agent.Name == "slow" })]
			run, _ := r.runner.RunNow(ctx, m, &m.Schedules[0], job.RunOptions{})
			ended <- run
		}()
		<-began
		r.clock.set(r.clock.Now().Add(time.Second)) // ids have the time in them
		if run, err := r.now("slow", job.RunOptions{}); !errors.Is(err, job.ErrBusy) {
			t.Errorf("a second run: %+v, %v", run, err)
		}
		cancel()
		if run := <-ended; run.Attempts[0].Result != job.WasCancelled || run.Status != job.Cancelled {
			t.Errorf("an interrupted run: %+v", run)
		}
		if runs, err := r.store.Runs(t.Context(), "slow", 0); err != nil || len(runs) != 1 {
			t.Errorf("a refused manual run must leave no record: %+v, %v", runs, err)
		}
		r.runner.Watch = nil
	})
}

func TestDryRun(t *testing.T) {
	r := newRig(t, time.Now())
	r.agent("dry", `echo "dry: $AGENT_DRY_RUN, [$AGENT_HEARTBEAT_FILE]"`, "[[on_success]]\nplugin = \"keep\"\n[[notifiers]]\ndriver = \"ntfy\"\ntopic = \"t\"\n"+hourly)
	r.plugin("keep", "sink", `touch "$MARK/kept"; echo '{"ok":true}'`)
	r.open()
	var lines []string
	r.runner.Watch = func(_ string, l job.Line) { lines = append(lines, l.Text) }
	m := r.loaded.Manifests[0]
	attempt, reports := r.runner.DryRun(t.Context(), m, &m.Schedules[0])
	if attempt.Result != job.OK || len(reports) != 1 || reports[0].Event != job.Success {
		t.Errorf("%+v, %+v", attempt, reports)
	}
	if !slices.Contains(lines, "dry: true, []") {
		t.Errorf("%q", lines)
	}
	if _, err := os.Stat(filepath.Join(r.home, "kept")); err == nil {
		t.Error("a sink was called")
	}
	if runs, err := r.store.Runs(t.Context(), "", 0); err != nil || len(runs) != 0 || len(r.told) != 0 {
		t.Errorf("something was recorded or reported: %v, %v, %v", runs, r.told, err)
	}
}

// TestPlannedStop: a scheduler that is told to end stops its agents. That is not a failure: the
// next scheduler continues the run, even after its last attempt, and no event is reported.
func TestPlannedStop(t *testing.T) {
	r := newRig(t, time.Date(2026, 3, 2, 0, 30, 0, 0, time.UTC))
	r.agent("long", `if mkdir "$MARK/first" 2>/dev/null; then echo began; exec sleep 60; fi; echo done`, "[defaults]\nmax_retries = 1\n"+hourly)
	r.open()
	began := make(chan struct{})
	r.runner.Watch = func(_ string, l job.Line) {
		if l.Text == "began" {
			close(began)
		}
	}
	r.schedule()
	await := func(reached func(job.State) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			states, err := r.store.States(t.Context())
			must(t, err)
			if st, ok := states["long/hourly"]; ok && reached(st) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%+v", states)
			}
		}
	}
	await(func(job.State) bool { return true })
	r.clock.set(time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC))
	<-began
	r.stop()
	<-r.ended
	runs, err := r.store.Runs(t.Context(), "long", 0)
	if err != nil || len(runs) != 1 || runs[0].Status != job.Waiting || runs[0].Attempts[0].Result != job.Stopped || len(r.told) != 0 {
		t.Fatalf("%+v, %v, told %v", runs, err, r.told)
	}
	equal(t, "the reason", []string{runs[0].Attempts[0].Error}, []string{"the process that made it was told to end"})
	r.schedule()
	await(func(st job.State) bool { return st.Active == "" })
	r.stop()
	<-r.ended
	run, err := r.store.Run(t.Context(), runs[0].ID)
	if err != nil || run.Status != job.Succeeded || len(run.Attempts) != 2 {
		t.Errorf("%+v, %v", run, err)
	}
	equal(t, "told", r.told, []string{"01:00 success"})
	equal(t, "printed", r.printed(run.ID), []string{"began", "done"})
}
