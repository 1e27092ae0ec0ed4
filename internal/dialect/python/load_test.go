package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
)

func TestAPluginSaysWhatItIs(t *testing.T) {
	s := newRig(t)
	s.write("a", `"""Does things."""
__plugin__ = {"api": "1.2", "name": "other", "version": "3.1"}
@on_done
async def z(ctx): pass
@on_begin
async def a(ctx): pass
`)
	s.write("b", "")
	s.open(dialect.Settings{})
	info := s.plugins[0].Info()
	if info.Name != "other" || info.Version != "3.1" || info.Description != "Does things." ||
		strings.Join(info.Hooks, " ") != "on_begin on_done" || info.Priority != hook.DefaultPriority {
		t.Errorf("info %+v", info)
	}
	if got := string(s.plugins[0].(Plugin).Metadata()); got != `{"api":"1.2","name":"other","version":"3.1"}` {
		t.Errorf("metadata %s", got)
	}
	if info := s.plugins[1].Info(); info.Name != "b" || len(info.Hooks) != 0 || len(s.plugins[1].Hooks()) != 0 {
		t.Errorf("a plugin without anything: %+v", info)
	}
}

func TestAFileAtFaultIsLeftOutWithItsPlace(t *testing.T) {
	s := newRig(t)
	s.write("good", "@on_final\nasync def f(ctx, text): return text + '!'\n")
	s.write("syntax", "x = 1\ndef f(:\n    pass\n")
	s.write("runtime", "\n\nraise RuntimeError('no luck')\n")
	s.write("api", "__plugin__ = {'api': '2.0'}\n")
	s.write("module", "import no_such_module_anywhere\n")
	s.open(dialect.Settings{})
	for _, c := range []struct {
		name, message string
		line, column  int
	}{
		{"syntax", "SyntaxError: ", 2, 7},
		{"runtime", "RuntimeError: no luck", 3, 1},
		{"api", "Incompatible plugin API version: 2.0 (expected 1.0)", 1, 1},
		{"module", "ModuleNotFoundError: ", 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault, ok := errors.AsType[*LoadError](s.errs[c.name])
			if !ok {
				t.Fatalf("error %v", s.errs[c.name])
			}
			p := fault.Problems()[0]
			if !strings.HasPrefix(p.Message, c.message) || p.Line != c.line || p.Column != c.column || filepath.Base(p.Path) != c.name+".py" {
				t.Errorf("problem %+v", p)
			}
		})
	}
	if fault, ok := errors.AsType[*LoadError](s.errs["module"]); !ok || !strings.Contains(fault.Problem.Fix, "install the module no_such_module_anywhere for /") {
		t.Errorf("fix of a missing module: %v", s.errs["module"])
	}
	if got := s.final("r", "still"); got != "still!" {
		t.Errorf("the plugin beside them: %q", got)
	}
}

func TestTheErrorOfAFileReadsAsCompilersWriteIt(t *testing.T) {
	err := &LoadError{Problem: dialect.Problem{Path: "/x/a.py", Line: 3, Column: 7, Message: "SyntaxError: invalid syntax"}}
	if got := err.Error(); got != "/x/a.py:3:7: SyntaxError: invalid syntax" {
		t.Errorf("got %q", got)
	}
	err.Problem.Line = 0
	if got := err.Error(); got != "/x/a.py: SyntaxError: invalid syntax" {
		t.Errorf("got %q", got)
	}
}

func TestAFileThatVanishedIsAtFault(t *testing.T) {
	s := newRig(t)
	path := s.write("a", "")
	found := s.dialect.Find(s.rt.Env)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, err := s.dialect.Open(t.Context(), found[0], dialect.Settings{}, s.runtime("a"))
	if _, ok := errors.AsType[*LoadError](err); !ok {
		t.Errorf("error %v", err)
	}
}

func TestDuplicatesAreAWarning(t *testing.T) {
	s := only(t, "@on_final\nasync def b(ctx, text): return 'b'\n@on_final\nasync def a(ctx, text): return 'a'\n")
	if got := s.final("r", "x"); got != "b" {
		t.Errorf("got %q, the last by name is b", got)
	}
	s.logged("level=WARN", "plugin=only", "on_final has two handlers, a and b: b is used")
}

// TestAPluginThatHangsAsItIsLoaded: the interpreter is restarted, and only that plugin is left out.
func TestAPluginThatHangsAsItIsLoaded(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.dialect.loadTimeout = 4 * time.Second
	s.write("a", "@on_final\nasync def f(ctx, text): return text + ' a'\n")
	s.write("b", "import time\ntime.sleep(600)\n")
	s.write("c", "@on_final\nasync def f(ctx, text): return text + ' c'\n")
	s.open(dialect.Settings{})
	if err := s.errs["b"]; !errors.Is(err, hook.Timeout) || !strings.Contains(err.Error(), "b.py took more than 4s to load") {
		t.Errorf("error %v", err)
	}
	if got := s.final("r", "x"); got != "x a c" {
		t.Errorf("the others: %q, %v", got, s.errs)
	}
}

// TestAPluginThatCrashesAsItIsLoaded: such a plugin is left out after a few tries.
func TestAPluginThatCrashesAsItIsLoaded(t *testing.T) {
	t.Parallel()
	s := newRig(t)
	s.write("a", "@on_final\nasync def f(ctx, text): return text + ' a'\n")
	s.write("b", "import os\nos._exit(3)\n")
	s.open(dialect.Settings{})
	if err := s.errs["b"]; !errors.Is(err, hook.Crash) || !strings.Contains(err.Error(), "b.py: the code ended the interpreter while it was loaded: exit code 3") {
		t.Errorf("error %v", err)
	}
	if got := s.final("r", "x"); got != "x a" {
		t.Errorf("the other: %q", got)
	}
}

// TestSideBySide: plugins can be opened and closed all at once, and share one process.
func TestSideBySide(t *testing.T) {
	s := newRig(t)
	for i := range 16 {
		s.write(fmt.Sprintf("p%02d", i), "@on_begin\nasync def f(ctx): pass\n")
	}
	s.write("bad", "1/0\n")
	found := s.dialect.Find(s.rt.Env)
	s.plugins = make([]dialect.Plugin, len(found))
	var all sync.WaitGroup
	for i, f := range found {
		all.Go(func() {
			if p, err := s.dialect.Open(t.Context(), f, dialect.Settings{}, s.runtime(f.Name)); err == nil {
				s.plugins[i] = p
			}
		})
	}
	all.Wait()
	pids := make(map[int]int)
	for _, p := range s.plugins[1:] {
		pids[p.Status().Pid]++
	}
	if s.plugins[0] != nil || len(pids) != 1 {
		t.Errorf("processes %v", pids)
	}
	for _, p := range s.plugins[1:] {
		all.Go(func() {
			if err := p.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s.plugins = nil
	if len(s.dialect.runners) != 0 {
		t.Error("the interpreter outlives its plugins")
	}
	s.open(dialect.Settings{}) // a second interpreter can be started after the first
	if len(s.plugins) != 16 {
		t.Errorf("%d plugins, %v", len(s.plugins), s.errs)
	}
}

func TestOpenHonoursItsContext(t *testing.T) {
	s := newRig(t)
	s.write("a", "import time\ntime.sleep(600)\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.dialect.Open(ctx, s.dialect.Find(s.rt.Env)[0], dialect.Settings{}, s.runtime("a")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestSettingsUnderAPluginsOwnName: the timeout under the name in __plugin__ applies once the
// plugin is loaded; the variables under that name are not passed on.
func TestSettingsUnderAPluginsOwnName(t *testing.T) {
	s := newRig(t)
	s.write("file", "__plugin__ = {'name': 'own'}\nimport os\n@on_final\nasync def f(ctx, text): return os.environ.get('PB_COLOUR', 'none')\n")
	s.rt.Env.Vars = append(s.rt.Env.Vars, "PB_COLOUR=blue", "PB_SECRET=x")
	s.rt.Settings = func(name string) (dialect.Settings, error) {
		if name != "own" {
			return dialect.Settings{}, errors.New("asked for " + name)
		}
		return dialect.Settings{Timeout: 3 * time.Second, Env: []string{"PB_COL*"}}, nil
	}
	s.open(dialect.Settings{})
	if got := s.final("r", "x"); got != "none" {
		t.Errorf("it got a variable that the configuration passes to the name in __plugin__: %q, %v", got, s.errs)
	}
	if got := s.plugins[0].Hooks()[0].Timeout; got != 3*time.Second+grace {
		t.Errorf("timeout %s", got)
	}
}

func TestValidate(t *testing.T) {
	s := newRig(t)
	s.dialect.loadTimeout = 4 * time.Second
	validate := func(name, content string) (*Validated, error) {
		return s.dialect.Validate(t.Context(), s.runtime(name), Draft{Name: name, Content: content})
	}
	t.Run("valid code", func(t *testing.T) {
		v, err := validate("test_plugin", "@on_begin\nasync def init(ctx): pass")
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(v)
		if want := `{"name":"test_plugin","hooks":["on_begin"],"metadata":{"api":"1.0","name":"test_plugin"}}`; err != nil || string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	for _, c := range []struct{ name, plugin, content, message string }{
		{"code with a syntax error", "a", "def f(:", "SyntaxError: "},
		{"a name that leads elsewhere", "../a", "", "Invalid plugin name: '../a'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := validate(c.plugin, c.content)
			if fault, ok := errors.AsType[*LoadError](err); !ok || !strings.HasPrefix(fault.Problem.Message, c.message) {
				t.Errorf("error %v", err)
			}
		})
	}
	for _, c := range []struct {
		name, content, message string
		kind                   hook.Kind
		line                   int
	}{
		{"code that hangs", "import time\nwhile True: pass", "a.py took more than 4s to load", hook.Timeout, 2},
		{"code that waits", "import time\n\ntime.sleep(600)", "a.py took more than 4s to load", hook.Timeout, 3},
		{"code that ends the interpreter", "import os; os._exit(9)", "the code ended the interpreter: exit code 9", hook.Crash, 0},
		{"code that kills it", "import os; os.kill(os.getpid(), 9)", "the code ended the interpreter: ", hook.Crash, 0},
		{"code that closes the pipes to the host", "import os; os.closerange(3, 64)", "the code ended the interpreter: ", hook.Crash, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := validate("a", c.content)
			fault, ok := errors.AsType[*LoadError](err)
			if !ok || !strings.HasPrefix(fault.Problem.Message, c.message) || !errors.Is(err, c.kind) || fault.Problem.Line != c.line {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("nothing was saved", func(t *testing.T) {
		if _, err := os.Stat(filepath.Join(s.home, ".agent")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("stat: %v", err)
		}
	})
}

func TestSave(t *testing.T) {
	s := newRig(t)
	path, err := Path(s.rt.Env, "my_plugin")
	if want := filepath.Join(s.home, ".agent", "plugins", "my_plugin.py"); err != nil || path != want {
		t.Fatalf("path %s, %v, want %s", path, err, want)
	}
	content := fmt.Sprintf(appends, "saved")
	if err := Save(s.rt.Env, "my_plugin", content); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		t.Errorf("file %q, %v", got, err)
	}
	s.open(dialect.Settings{})
	if got := s.final("r", "x"); got != "x saved" {
		t.Errorf("text %q, %v", got, s.errs)
	}
	for _, name := range []string{"", "../x", "a/b", "a.b", "-a", "a\n", strings.Repeat("x", 65)} {
		if _, err := Path(s.rt.Env, name); err == nil {
			t.Errorf("the name %q is allowed", name)
		}
	}
	if err := Save(s.rt.Env, "../x", content); err == nil {
		t.Error("a file was saved elsewhere")
	}
	if _, err := Path(dialect.Env{}, "a"); err == nil {
		t.Error("there is a path without a home")
	}
}
