//go:build linux

package faults

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
	"github.com/patchbay-dev/patchbay/internal/plugtest/eventually"
)

// A clock that jumps must not change any deadline, pause or health check. time.Now reads a
// monotonic clock beside the wall clock. The difference of two such times comes from the monotonic
// clock, so a jump does not affect it. Only code that turns a time into a wall clock time loses the
// monotonic reading. So this test searches the code that times plugins for such calls, and each
// that it finds must be listed.

// timed are the directories whose code times plugins.
var timed = []string{"hook", "internal/dialect", "internal/limits", "internal/proc", "internal/program", "internal/wire", "internal/guard"}

// toWall are the methods and functions of package time that drop the monotonic reading.
var toWall = []string{"Unix", "UnixNano", "UnixMilli", "UnixMicro", "UTC", "Local", "Round", "Truncate", "ModTime"}

// known are the calls that are allowed, by file and name, with the reason.
var known = map[string]string{
	"internal/dialect/kaged/notifications.go UTC": "a timestamp for people, never compared",
	"internal/dialect/mine/plugin.go UTC":         "a timestamp for the plugin to read, never compared",
	"internal/dialect/mine/translate.go UTC":      "a timestamp from a payload, for the plugin to read, never compared",
	"internal/dialect/dotagent/call.go Truncate":  "of a duration, for an error's text",
	"internal/dialect/python/refresh.go ModTime":  "only compared for equality: an older time is a change too",
	"internal/program/shim.go ModTime":            "only compared for equality: an older time is a change too",
	"internal/wire/pipe.go Unix":                  "a deadline that has passed, whatever the clock shows",
}

func TestNothingThatTimesPluginsGoesByTheWallClock(t *testing.T) {
	calls := 0
	for _, dir := range timed {
		root := filepath.Join("..", filepath.FromSlash(dir))
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, name := range wallCalls(t, path, &calls) {
				at := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator))) + " " + name
				if known[at] == "" {
					t.Errorf("%s drops the monotonic reading; if that is harmless, add it to known, with the reason", at)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls were examined: the list of folders is out of date", calls)
	}
}

// wallCalls returns the names in toWall that a file calls. calls counts all its calls.
func wallCalls(t *testing.T, path string, calls *int) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		*calls++
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(toWall, sel.Sel.Name) {
			found = append(found, sel.Sel.Name)
		}
		return true
	})
	return found
}

// longAgo is the time after the clock was set back by years.
var longAgo = time.Date(2001, 9, 9, 1, 46, 40, 0, time.UTC)

// TestAFileWithAnOlderTimeIsNoticed: a new version of a plugin is noticed even if the clock was set
// back before it was written.
func TestAFileWithAnOlderTimeIsNoticed(t *testing.T) {
	t.Run("a python plugin is loaded again", func(t *testing.T) {
		plugtest.NeedTool(t, "python3")
		p := start(t, &row{}, plugtest.Python, works())
		path := filepath.Join(p.home, ".agent", "plugins", "well.py")
		writeOld(t, path, "@on_final\nasync def f(ctx, text): return 'from the past'\n")
		eventually.True(p, "the new code", func() bool {
			out, err := p.host.Fire(t.Context(), hook.TurnFinal, json.RawMessage(`{"text":"hi"}`))
			return err == nil && strings.Contains(string(out.Payload), "from the past")
		})
		p.close()
	})
	t.Run("a broken plugin gets another try", func(t *testing.T) {
		p := start(t, &row{}, plugtest.Kaged, works())
		path := filepath.Join(p.home, ".local", "share", "kaged", "plugins", "late", "manifest.yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		state := func() dialect.State {
			p.refresh()
			d, err := p.host.Plugin("late")
			if err != nil {
				t.Fatal(err)
			}
			return d.State
		}
		if err := os.WriteFile(path, []byte("name: late\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		plugtest.InstallSelf(t, filepath.Join(filepath.Dir(path), "kaged-plugin-well"))
		if got := state(); got != dialect.Broken {
			t.Errorf("with half a manifest it is %s", got)
		}
		writeOld(t, path, "name: late\nversion: 1.0.0\nkaged_api: 1\ndescription: late\ncommand: [./kaged-plugin-well]\nhooks: [on_session_start]\n")
		if got := state(); got != dialect.Ready {
			t.Errorf("with a whole manifest of the past it is %s: %v", got, p.host.Doctor())
		}
		p.close()
	})
}

// writeOld writes a file as if the clock had been set back.
func writeOld(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
}
