package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

func export(t *testing.T, parent string) string {
	t.Helper()
	dir, err := Export(parent, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// imports runs a line of Python with the package, and returns what it prints.
func imports(t *testing.T, dir, code string) string {
	t.Helper()
	cmd := exec.Command("python3", "-c", code)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONPATH=" + dir}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestExport(t *testing.T) {
	plugtest.NeedTool(t, "python3")
	const all = "from plugins import PluginPipeline, plugin_registry, load_plugin_from_file, save_plugin, list_plugins, delete_plugin\n" +
		"from plugins.models import PluginContext, ToolCall, ToolResult\nprint(plugin_registry.discover())"
	t.Run("programs import it", func(t *testing.T) {
		dir := export(t, filepath.Join(t.TempDir(), "new", "place"))
		if got := imports(t, dir, all); got != "[]" || !strings.HasPrefix(filepath.Base(dir), "1.2.3-") {
			t.Errorf("in %s: %s", dir, got)
		}
	})
	t.Run("a complete directory stays, with the files that Python wrote there", func(t *testing.T) {
		parent := t.TempDir()
		dir := export(t, parent)
		imports(t, dir, all)
		before, err := os.Stat(filepath.Join(dir, "plugins", "models.py"))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(filepath.Join(export(t, parent), "plugins", "models.py"))
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("the directory was written again: %v", err)
		}
	})
	for name, harm := range map[string]func(file string) error{
		"a file that was changed": func(file string) error { return os.WriteFile(file, []byte("raise SystemExit(1)\n"), 0o600) },
		"a file that is missing":  os.Remove,
		"a link in its place": func(file string) error {
			if err := os.Remove(file); err != nil {
				return err
			}
			return os.Symlink(os.DevNull, file)
		},
	} {
		t.Run(name+" is repaired", func(t *testing.T) {
			parent := t.TempDir()
			if err := harm(filepath.Join(export(t, parent), "plugins", "models.py")); err != nil {
				t.Fatal(err)
			}
			if got := imports(t, export(t, parent), all); got != "[]" {
				t.Error(got)
			}
			onlyOne(t, parent)
		})
	}
	t.Run("many processes at once make one directory", func(t *testing.T) {
		parent := t.TempDir()
		var callers sync.WaitGroup
		for range 16 {
			callers.Go(func() {
				dir, err := Export(parent, "1.2.3")
				if modules, _ := readModules(); err != nil || !isWhole(dir, modules) {
					t.Errorf("%s: %v", dir, err)
				}
			})
		}
		callers.Wait()
		onlyOne(t, parent)
	})
	t.Run("a directory that PYTHONPATH cannot hold", func(t *testing.T) {
		if _, err := Export(filepath.Join(t.TempDir(), "a:b"), "1"); err == nil || !strings.Contains(err.Error(), "PATCHBAY_HOME") {
			t.Errorf("error %v", err)
		}
	})
}

// onlyOne checks that no draft was left behind.
func onlyOne(t *testing.T, parent string) {
	t.Helper()
	if list, err := os.ReadDir(parent); err != nil || len(list) != 1 {
		t.Errorf("%s has %v, %v", parent, list, err)
	}
}
