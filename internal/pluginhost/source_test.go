package pluginhost_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect/python"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/proc"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// handler is the code that makes a file a plugin.
const handler = "\n@on_final\nasync def f(ctx, text): return text\n"

// forbiddenCode returns pieces of code that try something forbidden while they are loaded. The keys
// say what they try.
func forbiddenCode(t *testing.T, h testHome) map[string]string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return map[string]string{
		"reads a file":     fmt.Sprintf("open(%q).read()", filepath.Join(h.home, "secret/note")),
		"writes a file":    fmt.Sprintf("open(%q, 'w').close()", filepath.Join(h.home, "out/made")),
		"uses the network": fmt.Sprintf("import socket; socket.create_connection(('127.0.0.1', %d), 5).close()", l.Addr().(*net.TCPAddr).Port),
		"starts a program": "import subprocess; subprocess.run(['ls'], check=True, capture_output=True)",
		"hides its reason": fmt.Sprintf("try:\n    open(%q)\nexcept OSError:\n    raise ValueError('no settings')", filepath.Join(h.home, "secret/note")),
	}
}

func isMade(h testHome) bool {
	_, err := os.Stat(filepath.Join(h.home, "out/made"))
	return err == nil
}

// TestCheckedCodeReachesNothing: code that is checked runs, but reaches no file, program or
// network.
func TestCheckedCodeReachesNothing(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	t.Run("with namespaces", func(t *testing.T) { checkedCodeReachesNothing(t, nil) })
	t.Run("with Landlock alone", func(t *testing.T) {
		if err := landlockAlone(); err != nil {
			t.Skip(err)
		}
		checkedCodeReachesNothing(t, &sandbox.System{Namespaces: errors.New("forbidden here")})
	})
}

// landlockAlone returns nil if there is a sandbox without namespaces.
func landlockAlone() error {
	g := proc.NewGroup(nil)
	defer g.Close()
	return sandbox.Probe(context.Background(), g).Landlock
}

func checkedCodeReachesNothing(t *testing.T, system *sandbox.System) {
	h := confinable(t)
	o := h.options()
	o.Dir = t.TempDir() // the code does not see it
	o.SetSystem(system)
	host := h.openWith(o)
	for deed, code := range forbiddenCode(t, h) {
		t.Run("code that "+deed, func(t *testing.T) {
			_, err := pythonfile.Of(host).Check(t.Context(), "draft", code+handler)
			fault, ok := errors.AsType[*pythonfile.CodeError](err)
			if !ok || !strings.Contains(fault.Problem.Message, python.Trial) || fault.Problem.Line == 0 {
				t.Errorf("%v", err)
			}
		})
	}
	if isMade(h) {
		t.Error("checked code wrote a file")
	}
	t.Run("the sandbox is not blamed for code with its own fault", func(t *testing.T) {
		_, err := pythonfile.Of(host).Check(t.Context(), "draft", "1/0"+handler)
		if _, ok := errors.AsType[*pythonfile.CodeError](err); !ok || strings.Contains(err.Error(), python.Trial) {
			t.Errorf("%v", err)
		}
	})
	t.Run("the interpreter and its packages are there", func(t *testing.T) {
		code := "import asyncio, json, ssl, sqlite3, urllib.request, tempfile\n" +
			"tempfile.TemporaryFile().close()\n__plugin__ = {'name': 'it', 'sum': sum(range(4))}" + handler
		s, err := pythonfile.Of(host).Check(t.Context(), "draft", code)
		if err != nil || s.Name != "it" || !slices.Equal(s.Hooks, []string{"on_final"}) || !strings.Contains(string(s.Metadata), `"sum":6`) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestCheckedCodeSeesNoPlaceOfOurs: code that is checked does not see a secret of Patchbay, even if
// its file is among the interpreter's libraries.
func TestCheckedCodeSeesNoPlaceOfOurs(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := confinable(t)
	const python = "/usr/bin/python3"
	if _, err := os.Stat(python); err != nil {
		t.Skip(err)
	}
	h.write("tools/lib/patchbay/secrets.toml", "KEY = \"hidden-word\"\n", 0o600)
	if err := errors.Join(os.MkdirAll(h.home+"/tools/bin", 0o755), os.Symlink(python, h.home+"/tools/bin/python3")); err != nil {
		t.Fatal(err)
	}
	o := h.options()
	o.Environ = []string{"HOME=" + h.home, "PATH=" + h.home + "/tools/bin:" + os.Getenv("PATH"), "PATCHBAY_HOME=" + h.home + "/tools/lib/patchbay"}
	_, err := pythonfile.Of(h.openWith(o)).Check(t.Context(), "draft", "raise ValueError(open('"+h.home+"/tools/lib/patchbay/secrets.toml').read())"+handler)
	if err == nil || strings.Contains(err.Error(), "hidden-word") || !strings.Contains(err.Error(), "No such file") {
		t.Errorf("%v", err)
	}
}

// TestSavedCodeIsCheckedAsItIsLoaded: saved code is checked with the grants and the limits of the
// plugin of that name.
func TestSavedCodeIsCheckedAsItIsLoaded(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := confinable(t)
	h.config("[plugins.held]\n" + h.grants() + "[plugins.rich]\nenv = [\"FAIL_ME\"]\n")
	o := h.options()
	o.Dir = t.TempDir()
	host := h.openWith(o)
	reads := forbiddenCode(t, h)["reads a file"] + handler
	if _, err := pythonfile.Of(host).Save(t.Context(), "free", reads); err != nil {
		t.Errorf("a plugin that is not confined: %v", err)
	}
	_, err := pythonfile.Of(host).Save(t.Context(), "held", reads)
	if _, ok := errors.AsType[*pythonfile.CodeError](err); !ok || strings.Contains(err.Error(), python.Trial) {
		t.Errorf("a plugin that is confined: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.home, ".agent/plugins/held.py")); err == nil {
		t.Error("the code was saved nevertheless")
	}
	granted := fmt.Sprintf("open(%q).read()", filepath.Join(h.home, "granted/note")) + handler
	if _, err := pythonfile.Of(host).Save(t.Context(), "held", granted); err != nil {
		t.Errorf("a confined plugin with the capability: %v", err)
	}
	variable := "import os; os.environ['FAIL_ME']" + handler
	if _, err := pythonfile.Of(host).Save(t.Context(), "rich", variable); err != nil {
		t.Errorf("a plugin that gets the variable: %v", err)
	}
	if _, err := pythonfile.Of(host).Save(t.Context(), "poor", variable); err == nil {
		t.Error("code that lacks the variable was saved")
	}
}

// TestCodeIsNotRunWithoutASandbox: without a sandbox, code is only read, and its declarations are
// reported.
func TestCodeIsNotRunWithoutASandbox(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	none := errors.New("forbidden here")
	for rule, c := range map[string]struct {
		config string
		system *sandbox.System
	}{
		"there is no sandbox": {"", &sandbox.System{Namespaces: none, Landlock: none, Filter: none}},
		"the sandbox is off":  {"sandbox = \"off\"\n", nil},
		"both":                {"sandbox = \"off\"\n", &sandbox.System{Namespaces: none, Landlock: none, Filter: none}},
	} {
		t.Run(rule, func(t *testing.T) {
			h := confinable(t)
			h.config(c.config)
			o := h.options()
			o.SetSystem(c.system)
			host := h.openWith(o)
			s, err := pythonfile.Of(host).Check(t.Context(), "draft", forbiddenCode(t, h)["writes a file"]+"\n__plugin__ = {'name': 'it'}"+handler)
			if err != nil || s.Name != "it" || !slices.Equal(s.Hooks, []string{"on_final"}) {
				t.Errorf("%+v, %v", s, err)
			}
			if isMade(h) {
				t.Error("code was run without a sandbox")
			}
			for code, says := range map[string]string{"def f(:": "SyntaxError", "@finish\ndef f(): pass\n": "NameError", "__plugin__ = {'api': '2.0'}": "Incompatible"} {
				_, err := pythonfile.Of(host).Check(t.Context(), "draft", code)
				if fault, ok := errors.AsType[*pythonfile.CodeError](err); !ok || !strings.HasPrefix(fault.Problem.Message, says) {
					t.Errorf("%q: %v", code, err)
				}
			}
		})
	}
}

// TestAFileThatCannotBeSaved: an error of writing is reported as such, and not as bad code.
func TestAFileThatCannotBeSaved(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	h := newTestHome(t)
	if err := os.MkdirAll(filepath.Join(h.home, ".agent/plugins/a.py"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := pythonfile.Of(h.open()).Save(t.Context(), "a", handler)
	if !errors.Is(err, hook.Unavailable) {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(filepath.Join(h.home, ".agent/plugins"))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
