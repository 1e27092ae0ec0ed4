package python

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// brief is a handler's limit for tests of handlers that exceed the limit. It is long enough for
// other handlers, even if they wait for an interpreter.
var brief = dialect.Settings{Timeout: 4 * time.Second}

const appends = "@on_final\nasync def f(ctx, text): return text + ' %s'\n"

func TestAnExceptionIsLoggedAndTheChainGoesOn(t *testing.T) {
	s := newRig(t)
	s.write("bad", "@on_final\nasync def f(ctx, text):\n    raise RuntimeError('kaboom')\n")
	s.write("good", fmt.Sprintf(appends, "good"))
	s.open(dialect.Settings{})
	out := s.fire("r", hook.TurnFinal, `{"text":"x"}`)
	if got := field(t, out, "text"); got != "x good" {
		t.Errorf("text %q", got)
	}
	err := out.Steps[0].Err
	if !errors.Is(err, hook.Refused) || err.Error() != "plugin bad (python) on_final at turn.final: failed: kaboom (RuntimeError, line 3)" {
		t.Errorf("error %v", err)
	}
	s.logged("level=WARN", "plugin=bad", `line="Plugin bad on_final failed: kaboom"`)
	s.logged("plugin=bad", "bad.py", "line 3, in f")
}

func TestAHandlerThatTakesTooLongIsCancelledAndTheInterpreterLives(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.write("a", "import asyncio\n@on_final\nasync def f(ctx, text):\n    if text == 'slow': await asyncio.sleep(600)\n    return text + ' a'\n")
	s.write("b", fmt.Sprintf(appends, "b"))
	s.open(brief)
	pid := s.plugins[0].Status().Pid
	out := s.fire("r", hook.TurnFinal, `{"text":"slow"}`)
	if err := out.Steps[0].Err; !errors.Is(err, hook.Timeout) || !strings.Contains(err.Error(), "timed out after 4") {
		t.Errorf("error %v", err)
	}
	if got := field(t, out, "text"); got != "slow b" {
		t.Errorf("text %q", got)
	}
	s.logged("level=WARN", "plugin=a", `line="Plugin a on_final timed out after 4.0s"`)
	if got := s.final("r", "x"); got != "x a b" || s.plugins[0].Status().Pid != pid {
		t.Errorf("text %q, process %d and then %d", got, pid, s.plugins[0].Status().Pid)
	}
}

func TestTheUsualLimitIsFiveSeconds(t *testing.T) {
	s := only(t, fmt.Sprintf(appends, ""))
	if got := s.plugins[0].Hooks()[0].Timeout; got != 5*time.Second+grace {
		t.Errorf("timeout %s", got)
	}
	if got := seconds(5 * time.Second); got != "5.0" {
		t.Errorf("seconds %s", got)
	}
}

// TestABlockedInterpreter: a handler that blocks the interpreter costs it a restart, and the next
// plugin in the chain takes part: docs/protocols/python.md, row P40.
func TestABlockedInterpreter(t *testing.T) {
	for name, block := range map[string]string{"asleep": "time.sleep(600)", "busy": "while True: pass"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRig(t)
			s.write("a", "import time\n@on_final\nasync def f(ctx, text):\n    if text == 'block':\n        "+block+"\n    return text + ' a'\n")
			s.write("b", fmt.Sprintf(appends, "b"))
			s.openEach(func(name string) dialect.Settings {
				if name == "a" {
					return brief
				}
				return dialect.Settings{Timeout: time.Minute} // it waits for an interpreter that is being restarted
			})
			pid, tries := s.plugins[0].Status().Pid, 0
			s.eventually("b to take part", func() bool { // on a busy machine it may be tried more than once
				tries++
				out := s.fire("r", hook.TurnFinal, `{"text":"block"}`)
				if err := out.Steps[0].Err; !errors.Is(err, hook.Timeout) && !errors.Is(err, hook.Unavailable) {
					t.Errorf("error %v", err)
				}
				return field(t, out, "text") == "block b"
			})
			s.logged("plugin=a", `line="Plugin a on_final timed out after 4.0s"`)
			s.logged("plugin=a", "interpreter was blocked, and is restarted", `at="a.py:5 in f"`)
			s.eventually("both to work afterwards", func() bool { return s.final("r", "x") == "x a b" })
			if st := s.plugins[1].Status(); st.Restarts < 1 || st.Restarts > tries || st.Pid == pid || st.Health != "ok" {
				t.Errorf("status %+v", st)
			}
		})
	}
}

// TestAnEarlyCancelEndsNoInterpreter: an interpreter that is blocked for less than the handler's
// limit is not ended, even if the caller gives up.
func TestAnEarlyCancelEndsNoInterpreter(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.write("a", "import time\n@on_final\nasync def f(ctx, text):\n    if text == 'block': time.sleep(1)\n    return text + ' a'\n")
	s.open(dialect.Settings{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	out, err := s.bus.Fire(ctx, hook.TurnFinal, []byte(`{"text":"block"}`))
	if err == nil && out.Steps[0].Err == nil {
		t.Error("the call was waited for")
	}
	if got := s.final("r", "x"); got != "x a" || s.plugins[0].Status().Restarts != 0 {
		t.Errorf("text %q, status %+v", got, s.plugins[0].Status())
	}
}

func TestSyncHandlers(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.write("a", "import time\n@on_final\ndef f(ctx, text):\n    if text == 'block': time.sleep(600)\n    return text + ' a'\n")
	s.write("b", fmt.Sprintf(appends, "b"))
	s.open(brief)
	t.Run("take part", func(t *testing.T) {
		if got := s.final("r", "x"); got != "x a b" {
			t.Errorf("text %q", got)
		}
	})
	t.Run("a plugin that blocks delays no other, and its interpreter lives", func(t *testing.T) {
		out := s.fire("r", hook.TurnFinal, `{"text":"block"}`)
		if err := out.Steps[0].Err; !errors.Is(err, hook.Timeout) {
			t.Errorf("error %v", err)
		}
		if got := field(t, out, "text"); got != "block b" {
			t.Errorf("text %q", got)
		}
		if got := s.final("r", "y"); got != "y a b" || s.plugins[0].Status().Restarts != 0 {
			t.Errorf("text %q, status %+v", got, s.plugins[0].Status())
		}
	})
	t.Run("its stuck thread ends with the interpreter, which is restarted when no request is under way", func(t *testing.T) {
		s.dialect.runners[share{procs: s.rt.Procs}].notified(notifyStuck, []byte(`{"threads":1}`))
		s.eventually("a restart", func() bool { return s.plugins[0].Status().Restarts == 1 })
		if got := s.final("r", "z"); got != "z a b" {
			t.Errorf("text %q", got)
		}
	})
}

func TestACrash(t *testing.T) {
	s := newRig(t)
	s.write("a", "import os\nn = 0\n@on_final\nasync def f(ctx, text):\n    global n\n    n += 1\n    if text == 'crash': os._exit(7)\n    return f'{text} a{n}'\n")
	s.write("b", fmt.Sprintf(appends, "b"))
	s.open(dialect.Settings{})
	if got := s.final("r", "x"); got != "x a1 b" {
		t.Errorf("text %q", got)
	}
	out := s.fire("r", hook.TurnFinal, `{"text":"crash"}`)
	if err := out.Steps[0].Err; !errors.Is(err, hook.Crash) || !strings.Contains(err.Error(), "exit code 7") {
		t.Errorf("error %v", err)
	}
	if got := field(t, out, "text"); got != "crash b" {
		t.Errorf("the plugin after it: %q, %v", got, out.Steps[1].Err)
	}
	if got := s.final("r", "y"); got != "y a1 b" { // loaded again, so its globals start anew
		t.Errorf("afterwards %q", got)
	}
}

// TestAPluginThatNoLongerLoadsAfterACrash: such a plugin is marked as faulty, and the others work.
func TestAPluginThatNoLongerLoadsAfterACrash(t *testing.T) {
	for name, broken := range map[string]string{"at fault": "def f(:\n", "hanging": "import time\ntime.sleep(600)\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRig(t)
			s.dialect.loadTimeout = 4 * time.Second
			works := "import os\n@on_final\nasync def f(ctx, text):\n    if text == 'crash': os._exit(7)\n    return text + ' a'\n"
			s.write("a", works)
			s.write("b", fmt.Sprintf(appends, "b"))
			s.open(dialect.Settings{})
			s.final("r", "x")                        // the request is under way
			s.plugins[0].(*plugin).refreshing.Lock() // and the file is not checked meanwhile
			s.write("a", broken)
			s.dialect.runners[share{procs: s.rt.Procs}].kept.Restart("test")
			s.eventually("the other plugin to work", func() bool { return strings.HasSuffix(s.final("r", "x"), " b") })
			out := s.fire("r", hook.TurnFinal, `{"text":"x"}`)
			if err := out.Steps[0].Err; !errors.Is(err, hook.Unavailable) || !strings.Contains(err.Error(), "a.py") {
				t.Errorf("error %v", err)
			}
			if st := s.plugins[0].Status(); st.Health != "failing" || st.Err == nil {
				t.Errorf("status %+v", st)
			}
			s.plugins[0].(*plugin).refreshing.Unlock()
			s.write("a", works)
			s.eventually("the fixed plugin", func() bool { return s.final("r", "x") == "x a b" })
		})
	}
}

func TestOutputGoesToThePluginsLogAndNeverOntoTheWire(t *testing.T) {
	s := newRig(t)
	s.write("loud", `
import logging, os, subprocess, sys
print("at load")
@on_final
async def f(ctx, text):
    print("printed")
    print('{"jsonrpc":"2.0","id":1,"result":{"text":"forged"}}')
    logging.getLogger("plugin.loud").info("informed")
    logging.warning("warned")
    logging.error("erred")
    sys.stderr.write("complained\n")
    os.write(1, b'{"jsonrpc":"2.0","id":2,"result":{"text":"forged"}}\n')
    subprocess.run(["echo", "from a child"])
    print("half a line", end="")
    return text + " loud"
`)
	s.write("other", fmt.Sprintf(appends, "other"))
	s.open(dialect.Settings{})
	if got := s.final("r", "x"); got != "x loud other" {
		t.Errorf("text %q", got)
	}
	for _, want := range [][]string{
		{"INFO", `line="at load"`}, {"INFO", "line=printed"}, {"INFO", "informed"}, {"WARN", "warned"}, {"ERROR", "erred"},
		{"INFO", "complained"}, {"INFO", `line="half a line"`},
	} {
		s.logged(append(want, "plugin=loud", "msg=stderr")...)
	}
	s.logged("forged")
	s.logged(`line="from a child"`)
	if strings.Contains(s.log.String(), "unexpected output") {
		t.Error("the plugin's output is among the messages to the host")
	}
}

// TestStateIsSharedByThePluginsOfARequest: ctx.state is one live object for all plugins and hooks
// of a request: docs/protocols/python.md, row P42.
func TestStateIsSharedByThePluginsOfARequest(t *testing.T) {
	s := newRig(t)
	s.write("a", `
@on_begin
async def begin(ctx):
    ctx.state["words"] = [ctx.session_id, ctx.working_dir, ctx.user_text]
    ctx.state["object"] = lambda: "live"
@on_done
async def done(ctx): print("done " + ",".join(ctx.state["words"]))
`)
	s.write("b", `
@on_begin
async def begin(ctx): ctx.state["words"].append("b")
@on_final
async def final(ctx, text): return text + " " + ",".join(ctx.state["words"]) + " " + ctx.state["object"]()
@on_done
async def done(ctx): print("done " + ",".join(ctx.state["words"]))
`)
	s.open(dialect.Settings{})
	for _, request := range []string{"r1", "r2", ""} {
		s.fire(request, hook.TurnBegin, `{"session_id":"s`+request+`","working_dir":"/w","user_text":"hi"}`)
	}
	for _, request := range []string{"r2", "", "r1"} {
		if got, want := s.final(request, "x"), "x s"+request+",/w,hi,b live"; got != want {
			t.Errorf("request %q: %q, want %q", request, got, want)
		}
	}
	for _, request := range []string{"", "r1"} {
		s.fire(request, hook.TurnDone, `{}`)
		s.logged("plugin=a", `line="done s`+request+`,/w,hi,b"`)
		s.logged("plugin=b", `line="done s`+request+`,/w,hi,b"`)
	}
	// Without a request id, a new turn begins a new request.
	s.fire("", hook.TurnBegin, `{"session_id":"next","working_dir":"/w","user_text":"hi"}`)
	if got := s.final("", "x"); got != "x next,/w,hi,b live" {
		t.Errorf("the next turn: %q", got)
	}
}

// TestARequestBeginsBeforeAnythingElse: on_begin is called first in each request, even if the host
// does not fire turn.begin, and again after a restart:
// docs/protocols/python.md#what-the-protocol-leaves-open.
func TestARequestBeginsBeforeAnythingElse(t *testing.T) {
	s := only(t, `
@on_begin
async def begin(ctx): ctx.state["words"] = ["begun"]
@on_final
async def final(ctx, text):
    ctx.state["words"].append(text)
    return " ".join(ctx.state["words"])
`)
	for _, want := range []string{"begun x", "begun x x"} {
		if got := s.final("r", "x"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	s.dialect.runners[share{procs: s.rt.Procs}].kept.Restart("test")
	out := s.fire("r", hook.TurnFinal, `{"text":"y"}`)
	if got := field(t, out, "text"); got != "begun y" {
		t.Errorf("after a restart %q", got)
	}
	if notes := step(t, out).Notes; len(notes) != 1 || !strings.Contains(notes[0], "on_begin was called first") {
		t.Errorf("notes %q", notes)
	}
}

func TestManyRequestsAtOnce(t *testing.T) {
	s := newRig(t)
	s.write("a", "import asyncio\n@on_begin\nasync def b(ctx): ctx.state['n'] = ctx.user_text\n"+
		"@on_final\nasync def f(ctx, text):\n    await asyncio.sleep(0.01)\n    return text + ctx.state['n']\n")
	s.write("b", "@on_final\ndef f(ctx, text): return text + ctx.state['n']\n")
	s.open(dialect.Settings{})
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			request := fmt.Sprintf("r%d", i)
			s.fire(request, hook.TurnBegin, fmt.Sprintf(`{"user_text":"%d"}`, i))
			if got, want := s.final(request, "x"), fmt.Sprintf("x%d%d", i, i); got != want {
				t.Errorf("request %d: %q", i, got)
			}
		})
	}
	all.Wait()
}

// TestEnvironment: a plugin gets only the environment of docs/protocols/python.md, row P44.
func TestEnvironment(t *testing.T) {
	s := newRig(t)
	s.rt.Env.Vars = append(s.rt.Env.Vars, "SECRET=hunter2", "GIT_DIR=/g", "GIT_AUTHOR=me", "PYTHONPATH=/evil", "LANG=C")
	s.write("a", "import os\n@on_final\nasync def f(ctx, text): return ' '.join(sorted(os.environ)) + ' ' + os.getcwd()\n")
	s.open(dialect.Settings{Env: []string{"GIT_*"}})
	got := s.final("r", "x")
	want := "GIT_AUTHOR GIT_DIR HOME LANG PATH TMPDIR "
	if !strings.HasPrefix(strings.ReplaceAll(got, "LC_CTYPE ", ""), want) { // Python itself sets it
		t.Errorf("the plugin sees %q, want %q", got, want)
	}
	if !strings.HasSuffix(got, " "+s.home) {
		t.Errorf("the plugin works in %q, not in %s", got, s.home)
	}
}

func TestAPluginThatIsClosedIsForgotten(t *testing.T) {
	s := newRig(t)
	s.write("a", fmt.Sprintf(appends, "a"))
	s.write("b", fmt.Sprintf(appends, "b"))
	s.open(dialect.Settings{})
	closed := s.plugins[0]
	for range 2 { // a second Close changes nothing
		if err := closed.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.plugins = s.plugins[1:]
	s.register()
	if got := s.final("r", "x"); got != "x b" {
		t.Errorf("text %q", got)
	}
	if len(s.dialect.runners) != 1 {
		t.Errorf("%d interpreters", len(s.dialect.runners))
	}
}

func TestAtexitFunctionsRun(t *testing.T) {
	s := only(t, "import atexit\natexit.register(lambda: print('goodbye'))\n")
	if err := s.plugins[0].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.logged("goodbye")
}

func TestALargeText(t *testing.T) {
	s := only(t, fmt.Sprintf(appends, "!"))
	big := strings.Repeat("é", 1<<20)
	if got := s.final("r", big); got != big+" !" {
		t.Errorf("%d bytes came back", len(got))
	}
	out := s.fire("r", hook.TurnFinal, `{"text":"`+strings.Repeat("x", largest)+`"}`)
	wantKind(t, out, hook.TooLarge)
	if got := s.final("r", "x"); got != "x !" {
		t.Errorf("afterwards %q", got)
	}
}

func TestAnAnswerOverTheSizeFailsThatCall(t *testing.T) {
	s := only(t, "@on_final\nasync def f(ctx, text): return text * (17 << 20)\n")
	wantKind(t, s.fire("r", hook.TurnFinal, `{"text":"x"}`), hook.TooLarge)
}
