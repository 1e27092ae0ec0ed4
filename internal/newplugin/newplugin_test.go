package newplugin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// all returns the possible pairs.
func all() []Request {
	var out []Request
	for _, d := range Dialects() {
		for _, l := range Languages(d.Word) {
			out = append(out, Request{Name: "my-first", Dialect: d.Word, Language: l.Word})
		}
	}
	return out
}

func TestEveryPairHasATemplate(t *testing.T) {
	for _, r := range all() {
		plan, err := Make(r)
		if err != nil {
			t.Errorf("%s in %s: %v", r.Dialect, r.Language, err)
			continue
		}
		var paths []string
		for _, f := range plan.Files {
			paths = append(paths, f.Path)
			if strings.Contains(f.Text, placeholder) || strings.HasPrefix(f.Path, placeholder) {
				t.Errorf("%s in %s: %s still says %s", r.Dialect, r.Language, f.Path, placeholder)
			}
			if i := strings.Index(f.Text, "@files@"); i >= 0 || strings.Contains(f.Text, "@json.bash@") || strings.Contains(f.Text, "@program@") {
				t.Errorf("%s in %s: %s is not filled in", r.Dialect, r.Language, f.Path)
			}
		}
		if r.Language != golang && !slices.Contains(paths, program(r)) || !slices.Contains(paths, "README.md") {
			t.Errorf("%s in %s: %s", r.Dialect, r.Language, paths)
		}
		if len(plan.Next) < 5 {
			t.Errorf("%s in %s: next is only %v", r.Dialect, r.Language, plan.Next)
		}
	}
}

// TestMakeRefuses: impossible requests, and what to ask for instead.
func TestMakeRefuses(t *testing.T) {
	for _, c := range []struct {
		r         Request
		want, fix string
	}{
		{Request{"a", "python", "bash"}, "a plugin of the python dialect cannot be written in bash", "python in python"},
		{Request{"a", "kagd", "bash"}, `there is no dialect "kagd"`, "did you mean kaged?"},
		{Request{"a", "kaged", "js"}, `there is no language "js"`, "did you mean javascript?"},
		{Request{"My_Plugin", "kaged", "bash"}, `"My_Plugin" is not a valid name`, "try my-plugin"},
		{Request{"my_plugin", "scaffold", "bash"}, `"my_plugin" is not a valid name`, "try my-plugin"},
		{Request{"../x", "scaffold", "bash"}, `"../x" is not a valid name`, "try x"},
		{Request{"..", "python", "python"}, `".." is not a valid name`, "letters, digits, _ and -"},
		{Request{"a.b", "dotagent", "bash"}, `"a.b" is not a valid name`, "try a-b"},
		{Request{"system", "kaged", "bash"}, "is reserved", "system-plugin"},
		{Request{"", "kaged", "bash"}, "the name is missing", ""},
		{Request{strings.Repeat("a", 65), "kaged", "bash"}, "65 characters", ""},
	} {
		_, err := Make(c.r)
		e, ok := errors.AsType[*Error](err)
		if !ok || !strings.Contains(e.Message, c.want) || !strings.Contains(e.Fix, c.fix) {
			t.Errorf("%+v: got %+v", c.r, err)
		}
	}
	for _, r := range []Request{{"Loud-1", "scaffold", "bash"}, {"_x", "python", "python"}, {"a_b", "dotagent", "bash"}} {
		if _, err := Make(r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

func TestWrite(t *testing.T) {
	parent := t.TempDir()
	plan, err := Make(Request{"hello", "scaffold", "bash"})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := plan.Write(parent)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"hello": 0o755, "test.sh": 0o755, "README.md": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := plan.Write(parent); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: %v", err)
	}
}

// TestWriteTouchesNothing: whatever has the name stays as it is, also an empty directory and a
// broken link.
func TestWriteTouchesNothing(t *testing.T) {
	plan, err := Make(Request{"hello", "scaffold", "bash"})
	if err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func(path string) error{
		"a file":            func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"an empty folder":   func(path string) error { return os.Mkdir(path, 0o755) },
		"a link to nowhere": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		parent := t.TempDir()
		if err := make(filepath.Join(parent, "hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := plan.Write(parent); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v", what, err)
		}
		if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
			t.Errorf("%s: left behind: %v, %v", what, entries, err)
		}
	}
}

// TestWriteFailsAsAWhole: if a file cannot be written, nothing is left.
func TestWriteFailsAsAWhole(t *testing.T) {
	parent := t.TempDir()
	plan := &Plan{Request: Request{Name: "hello"}, Files: []File{{"a", "text", 0o644}, {"a/b", "below a file", 0o644}}}
	if _, err := plan.Write(parent); err == nil {
		t.Fatal("it was written")
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := plan.Write(filepath.Join(parent, "no-such-folder")); err == nil {
		t.Error("a parent that is not there was made")
	}
}
