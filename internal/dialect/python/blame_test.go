package python

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

// waitFor waits until a plugin has made a file.
func (s *rig) waitFor(path string) {
	s.t.Helper()
	s.eventually(path, func() bool { _, err := os.Stat(path); return err == nil })
}

// TestTheBlameForABlockedInterpreter: the log names the file whose code holds the event loop, and
// not another plugin that runs.
func TestTheBlameForABlockedInterpreter(t *testing.T) {
	t.Run("a plugin that waits in a thread is not blamed", func(t *testing.T) {
		t.Parallel()
		s := newRig(t)
		began := filepath.Join(s.home, "began")
		s.write("patient", "import time\n@on_tool_result\ndef f(ctx, call, result):\n    open("+strconv.Quote(began)+", 'w').close()\n    time.sleep(600)\n")
		s.write("stubborn", "import time\n\n\n@on_final\nasync def f(ctx, text):\n    time.sleep(600)\n")
		s.open(brief)
		var both sync.WaitGroup
		both.Go(func() { s.fire("r1", hook.ToolAfter, `{"tool":"x","call_id":"1","arguments":{},"result":""}`) })
		s.waitFor(began)
		s.fire("r2", hook.TurnFinal, `{"text":"x"}`)
		both.Wait()
		s.logged("plugin=stubborn", "interpreter was blocked, and is restarted", `at="stubborn.py:6 in f"`)
		if strings.Contains(s.log.String(), `at="patient.py`) {
			t.Error("the wrong file is blamed")
		}
	})
	t.Run("a plugin whose call was delayed is not blamed", func(t *testing.T) {
		t.Parallel()
		s := newRig(t)
		began := filepath.Join(s.home, "began")
		s.write("victim", "@on_tool_result\nasync def f(ctx, call, result): pass\n")
		s.write("stubborn", "import time\n@on_final\nasync def f(ctx, text):\n    open("+strconv.Quote(began)+", 'w').close()\n    time.sleep(600)\n")
		s.openEach(func(name string) dialect.Settings {
			if name == "stubborn" {
				return dialect.Settings{Timeout: time.Minute}
			}
			return brief
		})
		var both sync.WaitGroup
		both.Go(func() { s.fire("r1", hook.TurnFinal, `{"text":"x"}`) })
		s.waitFor(began)
		out := s.fire("r2", hook.ToolAfter, `{"tool":"x","call_id":"1","arguments":{},"result":""}`)
		both.Wait()
		if err := step(t, out).Err; !errors.Is(err, hook.Timeout) || !strings.Contains(err.Error(), "the interpreter was blocked at stubborn.py:5 in f") {
			t.Errorf("error %v", err)
		}
		s.logged("plugin=stubborn", "interpreter was blocked, and is restarted", `at="stubborn.py:5 in f"`)
	})
	t.Run("a plugin that was being loaded is not blamed", func(t *testing.T) {
		t.Parallel()
		s := newRig(t)
		s.dialect.loadTimeout = 4 * time.Second
		began := filepath.Join(s.home, "began")
		s.write("stubborn", "import time\n@on_final\nasync def f(ctx, text):\n    open("+strconv.Quote(began)+", 'w').close()\n    time.sleep(600)\n")
		s.open(dialect.Settings{Timeout: time.Minute})
		var both sync.WaitGroup
		both.Go(func() { s.fire("r1", hook.TurnFinal, `{"text":"x"}`) })
		s.waitFor(began)
		path := s.write("victim", fmt.Sprintf(appends, "victim"))
		p, err := s.dialect.Open(t.Context(), at(path), brief, s.runtime("victim"))
		both.Wait()
		if err != nil {
			t.Fatalf("it is left out: %v", err)
		}
		s.plugins = append(s.plugins, p)
		if p.(*plugin).hangs {
			t.Error("the plugin that was being loaded is blamed")
		}
	})
}

// TestBlockedAt reads stacks as Python writes them.
func TestBlockedAt(t *testing.T) {
	const thread = "Thread 0x00007f56321c36c0 (most recent call first):\n  File \"/p/patient.py\", line 3 in wait\n  File \"patchbay/plugins/threads.py\", line 9 in run\n\n"
	const loop = "Current thread 0x00007f5633005b80 (most recent call first):\n  File \"/lib/re.py\", line 1 in match\n%s  File \"patchbay/plugins/runner.py\", line 90 in run\n"
	isPlugin := func(path string) bool { return strings.HasPrefix(path, "/p/") }
	for name, c := range map[string]struct{ stderr, want string }{
		"the loop's stack goes first":                          {thread + fmt.Sprintf(loop, "  File \"/p/stubborn.py\", line 6 in f\n"), "stubborn.py:6 in f"},
		"a thread is blamed if the loop runs no plugin's code": {thread + fmt.Sprintf(loop, ""), "patient.py:3 in wait"},
		"a stack whose head is cut off":                        {"  File \"/p/stubborn.py\", line 6 in f\n  File \"patchbay/plugins/runner.py\", line 90 in run\n", "stubborn.py:6 in f"},
		"a stack without a plugin":                             {"Killed\n", "an unknown place"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := blockedAt(c.stderr, isPlugin).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
