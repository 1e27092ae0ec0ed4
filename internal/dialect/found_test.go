package dialect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDirsIn: directories, links to directories and links to nothing are listed by name. Hidden
// directories, and files, are left out.
func TestDirsIn(t *testing.T) {
	place := t.TempDir()
	must(t, os.Mkdir(filepath.Join(place, "b"), 0o755))
	must(t, os.Mkdir(filepath.Join(place, ".hidden"), 0o755))
	must(t, os.WriteFile(filepath.Join(place, "a-file"), nil, 0o600))
	want := []string{filepath.Join(place, "b")}
	if os.Symlink("nowhere", filepath.Join(place, "c")) == nil { // Windows lets only some users make links
		must(t, os.Symlink("b", filepath.Join(place, "d")))
		want = append(want, filepath.Join(place, "c"), filepath.Join(place, "d"))
	}
	if got := DirsIn(place); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, none := range []string{"", filepath.Join(place, "missing"), filepath.Join(place, "a-file")} {
		if got := DirsIn(none); got != nil {
			t.Errorf("%q: got %q", none, got)
		}
	}
}

// TestExamineFolder: a place that is not a folder is a problem, and a missing one is not.
func TestExamineFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	for place, problems := range map[string]int{"": 0, filepath.Dir(file): 0, file + "-missing": 0, file: 1} {
		got := ExamineFolder(place)
		if len(got) != problems {
			t.Errorf("%q: %v", place, got)
		}
		for _, p := range got {
			if p.Path != place || strings.Contains(p.Message, place) {
				t.Errorf("the message does not have the path exactly once: %+v", p)
			}
		}
	}
}

// TestReadManifest: a manifest that is too large is refused, and an error names the file once.
func TestReadManifest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "manifest")
	must(t, os.WriteFile(file, make([]byte, 1024), 0o600))
	if data, err := ReadManifest(file, 1024); err != nil || len(data) != 1024 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if _, err := ReadManifest(file, 1023); err == nil || !strings.HasPrefix(err.Error(), file+": over ") {
		t.Errorf("one byte too many: %v", err)
	}
	_, err := ReadManifest(file+"-missing", 1)
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), file) != 1 {
		t.Errorf("a missing file: %v", err)
	}
}

// TestFirstProblem: the error has the first problem with its place, and the number of further ones.
func TestFirstProblem(t *testing.T) {
	p := Problem{Path: "f", Line: 2, Column: 3, Message: "m"}
	for want, problems := range map[string][]Problem{
		"f: m":                          {{Path: "f", Message: "m"}},
		"f:2:3: m":                      {p},
		"f:2:3: m (and 1 more problem)": {p, p}, "f:2:3: m (and 2 more problems)": {p, p, p},
	} {
		if got := FirstProblem(problems).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestAPlacesNameIsItsOwn: a plugin that declares the name of another plugin's directory is
// skipped, whichever comes first. A broken plugin keeps the name of its directory too.
func TestAPlacesNameIsItsOwn(t *testing.T) {
	all := []Found{{Name: "b", Place: "a", Path: "a"}, {Name: "b", Place: "b", Path: "b"}, {Name: "x", Place: "c", Path: "c", State: Broken}, {Name: "c", Place: "d", Path: "d"}}
	RefuseTwins(all)
	for i, want := range []State{Skipped, "", Broken, Skipped} {
		if all[i].State != want {
			t.Errorf("%+v, want state %q", all[i], want)
		}
	}
}

// TestRefuseTwins: of two plugins with one name the second is skipped. A broken plugin does not
// claim the name that it declares.
func TestRefuseTwins(t *testing.T) {
	all := []Found{{Name: "a", Path: "0", State: Broken}, {Name: "a", Path: "1"}, {Name: "b", Path: "2"}, {Name: "a", Path: "3"}}
	RefuseTwins(all)
	for i, want := range []State{Broken, "", "", Skipped} {
		if all[i].State != want {
			t.Errorf("%+v, want state %q", all[i], want)
		}
	}
	if err := all[3].Err; err == nil || err.Error() != "another plugin is called a: 1; change the name in the manifest of one of them" {
		t.Error(err)
	}
}

// TestAMisspeltManifest: the fix for a folder without a manifest names the file that was meant.
func TestAMisspeltManifest(t *testing.T) {
	for _, c := range []struct{ file, name, want string }{
		{"manifest.yml", "manifest.yaml", `rename "manifest.yml" there to manifest.yaml`},
		{"mine_plugin.toml", "mine-plugin.toml", `rename "mine_plugin.toml" there to mine-plugin.toml`},
		{"notes.py", "manifest.yaml", "write a manifest.yaml there, or remove the directory"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, c.file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := MissingManifest(dir, c.name); got != c.want {
			t.Errorf("with %s: %q, want %q", c.file, got, c.want)
		}
	}
}
