package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// crashRounds returns how often each kind of crash is made. PATCHBAY_CRASH_ROUNDS sets the number.
func crashRounds() int {
	if n, err := strconv.Atoi(os.Getenv("PATCHBAY_CRASH_ROUNDS")); err == nil {
		return n
	}
	return 2
}

// once is the beginning of a program that must not run twice at the same time. The program takes a
// lock, which its children hold too. If another process has the lock, the program adds a line to
// the file "twice".
const once = `exec 9>"$HOME/lock"; flock -n 9 || echo "$0" >> "$HOME/twice"; echo ran >> "$HOME/ran"; `

// slowAgent runs until it is killed. It ends at once if there is a file named "quick", and fails at
// once if there is one named "fail".
const slowAgent = "[agent]\nname = \"slow\"\n[run]\ncommand = \"/bin/sh\"\nargs = [\"agent.sh\"]\n[defaults]\nretry_backoff_minutes = [10]\n"

const slowProgram = once + `echo "$AGENT_TMPDIR" >> "$HOME/tmp"; touch "$AGENT_TMPDIR/x"
[ -e "$HOME/fail" ] && exit 1
[ -e "$HOME/quick" ] && exit 0
: > "$HOME/began"; sleep 600; exit 0`

// slowTurn is a turn with a tool that does not end. quickTurn is a turn whose tool checks whether
// that tool still runs. A script continues where the session's last turn has left it.
const (
	slowTurn = `- {text: Wait., tools: [{name: shell, arguments: {cmd: '` + once + `: > "$HOME/began"; sleep 600'}}]}
`
	quickTurn = `- {text: Look., tools: [{name: shell, arguments: {cmd: '` + once + `'}}]}
- text: It works.
`
)

// A crashRig is a home in which processes are killed again and again.
type crashRig struct {
	t    *testing.T
	home string
	most time.Duration // the longest time that a command took after a crash
}

func newCrashRig(t *testing.T) *crashRig {
	plugtest.NeedTool(t, "flock")
	r := &crashRig{t: t, home: t.TempDir()}
	write(t, r.home, ".config/patchbay/agents/slow/agent.toml", slowAgent)
	write(t, r.home, ".config/patchbay/agents/slow/agent.sh", slowProgram)
	write(t, r.home, "script.yaml", strings.Repeat(slowTurn+quickTurn, crashRounds()))
	return r
}

func (r *crashRig) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.home, name))
	return err == nil
}

func (r *crashRig) forget(names ...string) {
	for _, name := range names {
		_ = os.Remove(filepath.Join(r.home, name)) // it may not exist
	}
}

func (r *crashRig) lines(name string) []string {
	text, err := os.ReadFile(filepath.Join(r.home, name))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// await waits until a file exists.
func (r *crashRig) await(name string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !r.has(name); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s never came", name)
		}
	}
}

// start starts a command and waits until its program or tool has begun.
func (r *crashRig) start(args ...string) *exec.Cmd {
	r.t.Helper()
	r.forget("began")
	cmd := patchbayIn(r.home, args...)
	cmd.Stderr = new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// next runs the next command, which must succeed.
func (r *crashRig) next(args ...string) string {
	r.t.Helper()
	cmd := patchbayIn(r.home, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	out, err := cmd.Output()
	r.most = max(r.most, time.Since(began))
	if err != nil {
		r.t.Fatalf("%q after a crash: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// kill ends a process with SIGKILL.
func (r *crashRig) kill(cmd *exec.Cmd) {
	r.t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = cmd.Wait()
}

// check fails the test if a program ran twice at once, a temporary directory is left, or a run is
// not over.
func (r *crashRig) check() {
	r.t.Helper()
	if twice := r.lines("twice"); twice != nil {
		r.t.Fatalf("ran twice at once: %q", twice)
	}
	for _, dir := range r.lines("tmp") {
		if _, err := os.Stat(dir); err == nil {
			r.t.Errorf("%s is left", dir)
		}
	}
}

// A listedRun is a run in the output of `job history --json`.
type listedRun struct {
	ID, Status string
	Recovered  bool
	Attempts   []struct{ Result string }
}

func (r *crashRig) history() []listedRun {
	r.t.Helper()
	var page struct{ Runs []listedRun }
	if err := json.Unmarshal([]byte(r.next("job", "history", "-n", "1000", "--json")), &page); err != nil {
		r.t.Fatal(err)
	}
	return page.Runs
}

// checkRecovery checks the last two runs: the older one was cut off, and the newer one is its
// recovery.
func (r *crashRig) checkRecovery(round int) {
	r.t.Helper()
	runs := r.history()
	if len(runs) != 2*(round+1) || runs[0].Status != "succeeded" || !runs[0].Recovered || runs[1].Status != "given_up" || runs[1].Attempts[0].Result != "cut_off" {
		r.t.Fatalf("round %d: %d runs, the last of them %+v", round, len(runs), runs[:min(len(runs), 3)])
	}
	r.check()
}

// TestKilledInMidRun kills the process that makes a run, again and again. The next command makes
// the next run.
func TestKilledInMidRun(t *testing.T) {
	t.Run("a command, without a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		for round := range crashRounds() {
			cmd := r.start("job", "run", "slow")
			r.await("began")
			r.kill(cmd)
			write(t, r.home, "quick", "")
			r.next("job", "run", "slow")
			r.forget("quick")
			r.checkRecovery(round)
		}
		t.Logf("the next command took %v at most", r.most)
	})
	t.Run("a command, beside a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		s := serve(t, r.home)
		for round := range crashRounds() {
			cmd := r.start("job", "run", "slow")
			r.await("began")
			r.kill(cmd)
			write(t, r.home, "quick", "")
			r.makeRun(s)
			r.forget("quick")
			r.checkRecovery(round)
		}
		t.Logf("the next request took %v at most", r.most)
	})
	t.Run("a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		for round := range crashRounds() {
			r.forget("began")
			s := serve(t, r.home)
			if status := s.call("POST", "/v1/jobs/slow/run", "{}", nil); status != http.StatusOK {
				t.Fatalf("status %d", status)
			}
			r.await("began")
			s.kill()
			write(t, r.home, "quick", "")
			if round%2 == 0 {
				r.next("job", "run", "slow")
			} else {
				after := serve(t, r.home)
				r.makeRun(after)
				after.stop()
			}
			r.forget("quick")
			r.checkRecovery(round)
		}
		t.Logf("the next command took %v at most", r.most)
	})
	t.Run("a client that follows the output sees the end of the run", func(t *testing.T) {
		r := newCrashRig(t)
		cmd := r.start("job", "run", "slow")
		r.await("began")
		follower := patchbayIn(r.home, "job", "logs", "-f", "slow")
		if err := follower.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- follower.Wait() }()
		r.kill(cmd)
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			_ = follower.Process.Kill()
			t.Error("the client still follows a run that has ended")
		}
		if runs := r.history(); runs[0].Status != "given_up" {
			t.Errorf("%+v", runs)
		}
		r.check()
	})
	t.Run("a command that waits for its next attempt", func(t *testing.T) {
		r := newCrashRig(t)
		for round := range crashRounds() {
			r.endBetweenAttempts("kill", func(cmd *exec.Cmd) { r.kill(cmd) })
			runs := r.history()
			if len(runs) != 2*(round+1) || runs[0].Status != "succeeded" || !runs[0].Recovered || runs[1].Status != "given_up" {
				t.Fatalf("%+v", runs)
			}
			r.check()
		}
		t.Logf("the next command took %v at most", r.most)
	})
}

// makeRun makes a run over HTTP, and waits for its end.
func (r *crashRig) makeRun(s *server) {
	r.t.Helper()
	began := time.Now()
	var run listedRun
	if status := s.call("POST", "/v1/jobs/slow/run", "{}", &run); status != http.StatusOK {
		r.t.Fatalf("after a crash: status %d", status)
	}
	r.most = max(r.most, time.Since(began))
	for deadline := time.Now().Add(patience); run.Status != "succeeded"; time.Sleep(5 * time.Millisecond) {
		if s.call("GET", "/v1/runs/"+run.ID, "", &run); time.Now().After(deadline) {
			r.t.Fatalf("%+v", run)
		}
	}
}

// endBetweenAttempts ends a command while it waits for its run's next attempt. Then the next run
// must succeed.
func (r *crashRig) endBetweenAttempts(how string, end func(*exec.Cmd)) {
	r.t.Helper()
	write(r.t, r.home, "fail", "")
	cmd := patchbayIn(r.home, "job", "run", "slow")
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	said := make([]byte, 4096)
	for text := ""; !strings.Contains(text, "the next attempt is in"); {
		n, err := out.Read(said)
		if text += string(said[:n]); err != nil {
			r.t.Fatalf("%s: it said %q: %v", how, text, err)
		}
	}
	end(cmd)
	r.forget("fail")
	write(r.t, r.home, "quick", "")
	r.next("job", "run", "slow")
	r.forget("quick")
}

// TestKilledInMidTurn kills the process that runs a turn, again and again. The next message is
// answered, all messages are in the transcript, and no tool runs twice at once.
func TestKilledInMidTurn(t *testing.T) {
	t.Run("a command, without a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		for round := range crashRounds() {
			args := []string{"chat", "-p", fmt.Sprintf("wait %d", round), "--yes", "--script", "script.yaml"}
			if round > 0 {
				args = append(args, "--continue")
			}
			cmd := r.start(args...)
			r.await("began")
			r.kill(cmd)
			if out := r.next("chat", "--continue", "-p", "and now?", "--yes", "--script", "script.yaml"); !strings.Contains(out, "It works.") {
				t.Errorf("got %q", out)
			}
			r.check()
		}
		t.Logf("the next command took %v at most", r.most)
		s := serve(t, r.home)
		r.checkTranscript(s, r.session(s))
	})
	t.Run("a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		id := ""
		for round := range crashRounds() {
			r.forget("began")
			s := serve(t, r.home, "--script", "script.yaml")
			if id == "" {
				id = s.session("{}")
			}
			go func() { // the answer never comes
				resp, err := http.Post(s.url+"/session/"+id+"/message", "application/json", strings.NewReader(fmt.Sprintf(`{"text":"wait %d"}`, round)))
				if err == nil {
					resp.Body.Close()
				}
			}()
			r.await("began")
			s.kill()
			after := serve(t, r.home, "--script", "script.yaml")
			began := time.Now()
			answer, status := after.say(id, "and now?")
			r.most = max(r.most, time.Since(began))
			if status != http.StatusOK || answer.Text != "It works." {
				t.Fatalf("after a crash: status %d, %+v", status, answer)
			}
			r.check()
			if round == crashRounds()-1 {
				r.checkTranscript(after, id)
			}
			after.stop()
		}
		t.Logf("the next message took %v at most", r.most)
	})
}

// session returns the id of the only session.
func (r *crashRig) session(s *server) string {
	r.t.Helper()
	var list []struct{ ID string }
	if status := s.call("GET", "/v1/sessions", "", &list); status != http.StatusOK || len(list) != 1 {
		r.t.Fatalf("status %d, %+v", status, list)
	}
	return list[0].ID
}

// checkTranscript checks that the transcript has every acknowledged message of each interrupted
// turn, and how the turn ended.
func (r *crashRig) checkTranscript(s *server, session string) {
	r.t.Helper()
	text := strings.Join(s.transcript(session), "\n")
	for round := range crashRounds() {
		want := fmt.Sprintf("turn began\nuser: wait %d\nassistant: Wait. (1 calls)\ntool: interrupted: ", round)
		if strings.Count(text, want) != 1 {
			r.t.Errorf("the transcript lacks round %d:\n%s", round, text)
		}
	}
	if n := strings.Count(text, "turn interrupted"); n != crashRounds() {
		r.t.Errorf("%d turns were interrupted, want %d:\n%s", n, crashRounds(), text)
	}
}

// TestInterruptedCommands sends Ctrl-C to commands that wait for a program, an attempt or a tool.
// The command releases what it holds, and the next command works.
func TestInterruptedCommands(t *testing.T) {
	interrupt := func(t *testing.T, cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("it ended with %v: %s", err, cmd.Stderr)
		}
	}
	cancelled := func(t *testing.T, r *crashRig, results ...string) {
		t.Helper()
		runs := r.history()
		if len(runs) != 2 || runs[0].Status != "succeeded" || runs[1].Status != "cancelled" || len(runs[1].Attempts) != len(results) {
			t.Fatalf("%+v", runs)
		}
		for i, want := range results {
			if runs[1].Attempts[i].Result != want {
				t.Errorf("attempt %d: %+v", i+1, runs[1])
			}
		}
		r.check()
	}
	t.Run("a run, in its program", func(t *testing.T) {
		r := newCrashRig(t)
		cmd := r.start("job", "run", "slow")
		r.await("began")
		interrupt(t, cmd)
		write(t, r.home, "quick", "")
		r.next("job", "run", "slow")
		cancelled(t, r, "cancelled")
		if r.history()[0].Recovered {
			t.Error("the run after a cancelled one is reported as a recovery")
		}
	})
	t.Run("a run, between two attempts", func(t *testing.T) {
		r := newCrashRig(t)
		r.endBetweenAttempts("Ctrl-C", func(cmd *exec.Cmd) { interrupt(t, cmd) })
		cancelled(t, r, "failed")
	})
	t.Run("a turn, in a tool", func(t *testing.T) {
		r := newCrashRig(t)
		cmd := r.start("chat", "-p", "wait", "--yes", "--script", "script.yaml")
		r.await("began")
		interrupt(t, cmd)
		if out := r.next("chat", "--continue", "-p", "and now?", "--yes", "--script", "script.yaml"); !strings.Contains(out, "It works.") {
			t.Errorf("got %q", out)
		}
		r.check()
	})
}

// TestCancelledFromElsewhere cancels runs that other processes make.
func TestCancelledFromElsewhere(t *testing.T) {
	t.Run("a run of a command, by another command", func(t *testing.T) {
		r := newCrashRig(t)
		cmd := r.start("job", "run", "slow")
		r.await("began")
		var run listedRun
		if err := json.Unmarshal([]byte(r.next("job", "cancel", "slow", "--json")), &run); err != nil || run.Status != "cancelled" {
			t.Errorf("%+v, %v", run, err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("the command that made it ended with %v: %s", err, cmd.Stderr)
		}
		r.check()
	})
	t.Run("a run of a command, by a daemon", func(t *testing.T) {
		r := newCrashRig(t)
		s := serve(t, r.home)
		cmd := r.start("job", "run", "slow")
		r.await("began")
		id := r.history()[0].ID
		var run listedRun
		if status := s.call("POST", "/v1/runs/"+id+"/cancel", "", &run); status != http.StatusOK || run.Status != "cancelled" {
			t.Errorf("status %d, %+v", status, run)
		}
		if status := s.call("POST", "/v1/runs/"+id+"/cancel", "", nil); status != http.StatusConflict {
			t.Errorf("cancelling it again: status %d", status)
		}
		if status := s.call("POST", "/v1/runs/slow/manual/20260101T000000.000Z/cancel", "", nil); status != http.StatusNotFound {
			t.Errorf("a run that does not exist: status %d", status)
		}
		_ = cmd.Wait()
		r.check()
	})
	t.Run("a run of a daemon, by a command", func(t *testing.T) {
		r := newCrashRig(t)
		s := serve(t, r.home)
		if status := s.call("POST", "/v1/jobs/slow/run", "{}", nil); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		r.await("began")
		r.next("job", "cancel", "slow")
		if runs := r.history(); runs[0].Status != "cancelled" {
			t.Errorf("%+v", runs)
		}
		r.check()
	})
}
