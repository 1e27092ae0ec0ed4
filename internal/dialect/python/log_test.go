package python

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func TestSaidBy(t *testing.T) {
	const stack = "Current thread 0x00007f (most recent call first):\n  File \"<string>\", line 56 in <module>\n"
	for _, c := range []struct{ name, stderr, want string }{
		{"another plugin's line", "\x1ebudget\x1eI\x1ebegin\n", ""},
		{"its own line", "\x1emoody\x1eE\x1ehelp\n\x1ebudget\x1eI\x1ebegin\n", "help"},
		{"a line without a mark", "MemoryError\n\x1ebudget\x1eI\x1ebegin\n", "MemoryError"},
		{"the stacks of an interpreter that was ended", stack, ""},
		{"the end of a line", strings.Repeat("x", stderrTail) + "\n\x1emoody\x1eI\x1ehelp", "help"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := saidBy(c.stderr, "moody"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestTheErrorOfACrashHasNoOutputOfOthers: the error of a crash has no output of another plugin,
// and no marks.
func TestTheErrorOfACrashHasNoOutputOfOthers(t *testing.T) {
	s := newRig(t)
	s.write("budget", "@on_final\nasync def f(ctx, text): print('begin')\n")
	s.write("moody", "import os\n@on_final\nasync def f(ctx, text): os._exit(3)\n")
	s.open(dialect.Settings{})
	out := s.fire("r", hook.TurnFinal, `{"text":"x"}`)
	err := out.Steps[1].Err
	if !errors.Is(err, hook.Crash) || strings.Contains(err.Error(), "begin") || strings.Contains(err.Error(), logMark) {
		t.Errorf("error %q", err)
	}
	s.logged("plugin=moody", "interpreter ended, and is restarted", "exit code 3")
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, `x1e`) || strings.Contains(line, "plugin=moody") && strings.Contains(line, "begin") {
			t.Errorf("line %q", line)
		}
	}
}

// TestAFailureIsLoggedWhateverPluginsDoToTheLog: a file that redirects stderr and configures
// logging does not hide the failures of any plugin.
func TestAFailureIsLoggedWhateverPluginsDoToTheLog(t *testing.T) {
	s := newRig(t)
	s.write("quiet", "import logging, logging.config, os\nos.dup2(os.open(os.devnull, os.O_WRONLY), 2)\nlogging.disable()\n"+
		"logging.basicConfig(force=True, filename=os.devnull)\nlogging.config.dictConfig({'version': 1})\n@on_done\nasync def f(ctx): pass\n")
	s.write("guard", "@on_final\nasync def f(ctx, text): raise ValueError('not today')\n")
	s.open(dialect.Settings{})
	s.fire("r", hook.TurnFinal, `{"text":"x"}`)
	s.logged("plugin=guard", "Plugin guard on_final failed: not today")
}

// TestACancelledHandlerIsLoggedForItsPlugin: a handler that still runs when the host closes is
// cancelled, and the log of its own plugin says so.
func TestACancelledHandlerIsLoggedForItsPlugin(t *testing.T) {
	s := newRig(t)
	s.write("first", "import asyncio\n@on_begin\nasync def f(ctx):\n    print('it waits')\n    await asyncio.sleep(600)\n")
	s.write("second", "@on_final\nasync def f(ctx, text): print('second')\n")
	s.open(dialect.Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = s.bus.Fire(hook.WithRequest(ctx, "r"), hook.TurnBegin, json.RawMessage(`{}`)) // it is cancelled
	}()
	s.eventually("the handler to wait", func() bool { return strings.Contains(s.log.String(), "it waits") })
	s.fire("s", hook.TurnFinal, `{"text":"x"}`) // now second was called last
	cancel()
	<-ended
	s.close()
	s.logged("plugin=first", "Plugin first on_begin failed: it was cancelled")
}

// TestTheEndOfAnInterpreterIsReportedOnce: an error says that a file ends the interpreter, so the
// warning about the interpreter is not repeated for each attempt.
func TestTheEndOfAnInterpreterIsReportedOnce(t *testing.T) {
	s := newRig(t)
	s.write("ends", "import os\nos._exit(2)\n")
	s.open(dialect.Settings{})
	fault, ok := errors.AsType[*LoadError](s.errs["ends"])
	if !ok || !strings.Contains(fault.Error(), "ended the interpreter") || !strings.Contains(fault.Fix(), "os._exit") {
		t.Errorf("error %v", s.errs["ends"])
	}
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "interpreter ended") {
			t.Errorf("line %q", line)
		}
	}
}

// TestSettingsThatAPluginNeverGets: settings that python plugins do not use are findings.
func TestSettingsThatAPluginNeverGets(t *testing.T) {
	s := newRig(t)
	s.write("only", "@on_done\nasync def f(ctx): pass\n")
	s.open(dialect.Settings{Config: []byte(`{"a":1}`), SystemConfig: []byte(`{"b":2}`), ToolTimeout: 1})
	s.logged("the config of [plugins.only] has no effect", "finding=true")
	s.logged("[plugins.only] in the secrets file has no effect")
	s.logged("tool_timeout of [plugins.only] has no effect")
}

// TestANameThatBelongsToAnotherFile: the warning names that file.
func TestANameThatBelongsToAnotherFile(t *testing.T) {
	s := newRig(t)
	s.write("budget", "@on_done\nasync def f(ctx): pass\n")
	s.write("other", "__plugin__ = {'name': 'budget'}\n@on_done\nasync def f(ctx): pass\n")
	s.open(dialect.Settings{})
	s.logged("plugin=other", "which is the name of", "budget.py, so it is called other", `fix="change \"name\" in its __plugin__`)
}

// TestANameThatGoesToAnotherFile: what the new owner of a name prints is in its own log, not in the
// log of the plugin that had the name before.
func TestANameThatGoesToAnotherFile(t *testing.T) {
	s := newRig(t)
	s.write("keeper", "@on_done\nasync def f(ctx): pass\n") // keeps the interpreter
	s.write("other", "__plugin__ = {'name': 'budget'}\n@on_begin\nasync def f(ctx): print('of other')\n")
	s.open(dialect.Settings{})
	if err := s.plugins[1].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.write("budget", "@on_begin\nasync def f(ctx): print('of budget')\n")
	keeper := s.plugins[0]
	s.plugins = nil
	s.open(dialect.Settings{})
	s.plugins = append(s.plugins, keeper) // closed with the others
	s.fire("r", hook.TurnBegin, `{}`)
	s.logged("plugin=budget", "of budget")
	s.logged("plugin=other", "of other")
}
