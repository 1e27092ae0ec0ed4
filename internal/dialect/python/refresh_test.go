package python

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

const begins = "@on_begin\nasync def b(ctx): pass\n"

func TestAChangedFileIsLoadedAgain(t *testing.T) {
	t.Run("at the beginning of a turn", func(t *testing.T) {
		s := only(t, begins+fmt.Sprintf(appends, "old"))
		s.final("r", "x") // the file was just checked
		s.write("only", begins+fmt.Sprintf(appends, "new"))
		s.fire("r", hook.TurnBegin, `{}`)
		if got := s.final("r", "x"); got != "x new" {
			t.Errorf("text %q", got)
		}
		s.logged("plugin=only", "plugin reloaded")
	})
	t.Run("within a turn after a while", func(t *testing.T) {
		s := only(t, fmt.Sprintf(appends, "old"))
		s.write("only", fmt.Sprintf(appends, "new"))
		s.eventually("the new code", func() bool { return s.final("r", "x") == "x new" })
	})
}

func TestFilesAreCheckedOnlyNowAndThen(t *testing.T) {
	for _, request := range []string{"r", ""} {
		s := only(t, fmt.Sprintf(appends, "old"))
		s.final(request, "x")
		p := s.plugins[0].(*plugin)
		p.looked = time.Now().Add(time.Hour)
		s.write("only", fmt.Sprintf(appends, "new"))
		for range 3 {
			if got := s.final(request, "x"); got != "x old" {
				t.Errorf("within request %q: text %q", request, got)
			}
		}
	}
}

// TestAnEditActsOnTheNextTurn: an edit acts on the next turn, however soon that comes and whichever
// hooks the plugin has: docs/protocols/python.md, row P26.
func TestAnEditActsOnTheNextTurn(t *testing.T) {
	s := only(t, fmt.Sprintf(appends, "0"))
	for i := 1; i <= 5; i++ {
		s.write("only", fmt.Sprintf(appends, fmt.Sprint(i)))
		if got, want := s.final(fmt.Sprintf("r%d", i), "x"), fmt.Sprintf("x %d", i); got != want {
			t.Errorf("turn %d: %q", i, got)
		}
	}
}

func TestAChangeThatDoesNotLoadKeepsTheOldCode(t *testing.T) {
	s := only(t, begins+fmt.Sprintf(appends, "old"))
	s.write("only", "x = 1\ndef f(:\n")
	for range 3 {
		if got := step(t, s.fire("r", hook.TurnBegin, `{}`)); got.Err != nil {
			t.Errorf("error %v", got.Err)
		}
	}
	if got := s.final("r", "x"); got != "x old" {
		t.Errorf("text %q", got)
	}
	s.logged("level=WARN", "plugin=only", "plugin was changed, and cannot be loaded: the old code stays", "only.py:2:7: SyntaxError", `fix="correct line 2, which is not valid Python"`)
	if n := strings.Count(s.log.String(), "cannot be loaded"); n != 1 {
		t.Errorf("loading was tried %d times", n)
	}
	s.write("only", begins+fmt.Sprintf(appends, "fixed"))
	s.fire("r", hook.TurnBegin, `{}`)
	if got := s.final("r", "x"); got != "x fixed" {
		t.Errorf("text %q", got)
	}
}

func TestAReloadThatHangsCostsTheInterpreter(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.dialect.loadTimeout = 4 * time.Second
	s.write("a", begins+fmt.Sprintf(appends, "a"))
	s.write("b", fmt.Sprintf(appends, "b"))
	s.open(dialect.Settings{})
	s.write("a", "import time\ntime.sleep(600)\n")
	wantKind(t, s.fire("r", hook.TurnBegin, `{}`), hook.Unavailable, "took more than 4s to load")
	if got := s.final("r", "x"); got != "x b" {
		t.Errorf("text %q", got)
	}
	s.write("a", begins+fmt.Sprintf(appends, "fixed"))
	s.fire("r", hook.TurnBegin, `{}`)
	if got := s.final("r", "x"); got != "x fixed b" {
		t.Errorf("text %q", got)
	}
}

func TestAFileThatIsRemovedDoesNotAct(t *testing.T) {
	s := newRig(t)
	path := s.write("only", begins+fmt.Sprintf(appends, "old"))
	s.open(dialect.Settings{})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.fire("r", hook.TurnBegin, `{}`)
	}
	out := s.fire("r", hook.TurnFinal, `{"text":"x"}`)
	if st := step(t, out); field(t, out, "text") != "x" || st.Err != nil || len(st.Notes) != 1 || st.Notes[0] != "its file was removed: it does not act" {
		t.Errorf("payload %s, step %+v", out.Payload, st)
	}
	if n := strings.Count(s.log.String(), "plugin's file was removed, so it is not called any more"); n != 1 {
		t.Errorf("the warning was logged %d times", n)
	}
	s.write("only", begins+fmt.Sprintf(appends, "back"))
	s.fire("r2", hook.TurnBegin, `{}`)
	if got := s.final("r2", "x"); got != "x back" {
		t.Errorf("when it is back: %q", got)
	}
}

// TestAFileThatIsBeingReplaced: a file that is missing for a moment while an editor replaces it
// still acts. On a busy machine the moment may be too long, so the test tries again until it was
// short enough.
func TestAFileThatIsBeingReplaced(t *testing.T) {
	s := only(t, begins+fmt.Sprintf(appends, "old"))
	for try, began := 1, time.Now(); time.Since(began) < time.Minute; try++ {
		word := fmt.Sprint("new", try)
		logged := len(s.log.String())
		if !s.replace(word) {
			s.fire("r", hook.TurnBegin, `{}`) // the file is back, and the plugin acts again
			continue
		}
		if got := s.final("r", "x"); got != "x "+word || strings.Contains(s.log.String()[logged:], "was removed") {
			t.Errorf("text %q", got)
		}
		return
	}
	t.Fatal("for a minute this machine was too busy to replace a file at once")
}

// replace lets a turn begin while the file is being replaced. It reports whether the file was
// missing for less than replaceWait.
func (s *rig) replace(word string) bool {
	s.t.Helper()
	path := filepath.Join(s.home, ".agent", "plugins", "only.py")
	draft := s.write("draft", begins+fmt.Sprintf(appends, word))
	began := time.Now()
	if err := os.Remove(path); err != nil {
		s.t.Fatal(err)
	}
	moved := make(chan error, 1)
	go func() {
		time.Sleep(replaceWait / 10) // the moment between two system calls of an editor
		moved <- os.Rename(draft, path)
	}()
	s.fire("r", hook.TurnBegin, `{}`)
	if err := <-moved; err != nil {
		s.t.Fatal(err)
	}
	return time.Since(began) <= replaceWait
}

func TestHooksThatComeAndGo(t *testing.T) {
	s := only(t, begins+fmt.Sprintf(appends, "old"))
	s.write("only", begins+"@on_done\nasync def d(ctx): pass\n")
	s.fire("r", hook.TurnBegin, `{}`)
	out := s.fire("r", hook.TurnFinal, `{"text":"x"}`)
	if st := step(t, out); st.Err != nil || st.Changed {
		t.Errorf("a hook that went: %+v", st)
	}
	s.logged("plugin=only", "plugin reloaded", "on_done")
	if got := strings.Join(s.plugins[0].Info().Hooks, " "); got != "on_begin on_done" || len(s.plugins[0].Hooks()) != 2 {
		t.Errorf("hooks %s", got)
	}
}

func TestReloadByHand(t *testing.T) {
	s := only(t, "n = 0\n@on_final\nasync def f(ctx, text):\n    global n\n    n += 1\n    return str(n)\n")
	p := s.plugins[0].(Plugin)
	s.final("r", "x")
	if got := s.final("r", "x"); got != "2" {
		t.Errorf("globals do not persist: %q", got)
	}
	if err := p.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.final("r", "x"); got != "1" {
		t.Errorf("globals persist a reload: %q", got)
	}
	s.write("only", "1/0\n")
	err := p.Reload(t.Context())
	if fault, ok := errors.AsType[*LoadError](err); !ok || fault.Problem.Line != 1 {
		t.Errorf("error %v", err)
	}
}
