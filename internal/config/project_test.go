package config

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func projectWith(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, ".patchbay"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ProjectFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestLoadProject: the config of each plugin is read, and a missing file is an empty one.
func TestLoadProject(t *testing.T) {
	p, err := LoadProject(projectWith(t, "[plugins.notes]\nconfig = { level = 3 }\n[plugins.\"kaged:x\".config]\na.b = true\n"))
	want := map[string]map[string]any{"notes": {"level": int64(3)}, "kaged:x": {"a": map[string]any{"b": true}}}
	if err != nil || !reflect.DeepEqual(p.Plugins, want) {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := LoadProject(t.TempDir()); err != nil || len(p.Plugins) != 0 {
		t.Errorf("without a file: %v, %v", p, err)
	}
}

// TestAProjectGrantsNothing: every key but config is an error, with its position.
func TestAProjectGrantsNothing(t *testing.T) {
	for _, tc := range []struct{ text, place string }{
		{"sandbox = \"off\"\n", "1:11"},
		{"[plugins.notes]\ncapabilities = [\"net:*\"]\n", "2:16"},
		{"[plugins.notes]\nconfig = {}\nenabled = true\n", "3:11"},
		{"[plugins.notes]\nenv = [\"AWS_*\"]\n", "2:7"},
		{"[server]\ntoken = \"x\"\n", "1:2"},
		{"[[connect]]\nplugin = \"a\"\n", "1:3"},
	} {
		_, err := LoadProject(projectWith(t, tc.text))
		if err == nil || !strings.Contains(err.Error(), ProjectFile+":"+tc.place) || !strings.Contains(err.Error(), "nothing but [plugins.NAME] config") {
			t.Errorf("%q: error %v, want the place %s", tc.text, err, tc.place)
		}
	}
}

// TestABrokenProjectFileCanBeRemoved: the error says how to go on without the file.
func TestABrokenProjectFileCanBeRemoved(t *testing.T) {
	_, err := LoadProject(projectWith(t, "nonsense = ["))
	if err == nil || !strings.Contains(err.Error(), "to go on without the file, remove it") {
		t.Errorf("error %v", err)
	}
}

func TestAProjectsLinkOutIsRefused(t *testing.T) {
	root := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secrets.toml")
	if err := os.WriteFile(secret, []byte("key = hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, ".patchbay"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(root, ProjectFile)); err != nil {
		if runtime.GOOS == "windows" { // making a link needs a privilege there
			t.Skipf("this user may make no links: %v", err)
		}
		t.Fatal(err)
	}
	if _, err := LoadProject(root); err == nil || !strings.Contains(err.Error(), "leads out of the project") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v", err)
	}
}

func TestOver(t *testing.T) {
	below := map[string]any{"a": int64(1), "t": map[string]any{"x": int64(1), "y": int64(2)}}
	got := Over(below, map[string]any{"b": true, "t": map[string]any{"y": int64(3)}})
	want := map[string]any{"a": int64(1), "b": true, "t": map[string]any{"x": int64(1), "y": int64(3)}}
	if !reflect.DeepEqual(got, want) || below["t"].(map[string]any)["y"] != int64(2) {
		t.Errorf("%v over %v", got, below)
	}
}
