package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// names are the files of a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func wants(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s is %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != mode {
		t.Errorf("%s: %v, %v; want mode %s", path, info, err, mode)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, c := range []struct {
		rule, text string
		o          Options
		mode       fs.FileMode
	}{
		{"a new file is the user's alone", "one", Options{}, 0o600},
		{"the next write replaces the file", "two", Options{}, 0o600},
		{"the file has the mode of the options", "three", Options{Mode: 0o666}, 0o666},
		{"a file may be empty", "", Options{}, 0o600},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if err := Write(path, []byte(c.text), c.o); err != nil {
				t.Fatal(err)
			}
			wants(t, path, c.text, c.mode)
			if got := names(t, dir); got != "file" {
				t.Errorf("the directory contains %s", got)
			}
		})
	}
	t.Run("a name may have 255 bytes", func(t *testing.T) {
		if err := Write(filepath.Join(dir, strings.Repeat("n", 255)), nil, Options{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a missing directory is an error", func(t *testing.T) {
		if err := Write(filepath.Join(dir, "gone", "file"), nil, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	})
}

// TestALinkIsReplaced: the file that the link leads to stays as it is.
func TestALinkIsReplaced(t *testing.T) {
	dir := t.TempDir()
	other, path := filepath.Join(dir, "other"), filepath.Join(dir, "file")
	if err := errors.Join(os.WriteFile(other, []byte("theirs"), 0o600), os.Symlink(other, path)); err != nil {
		t.Skip(err)
	}
	if err := Write(path, []byte("ours"), Options{}); err != nil {
		t.Fatal(err)
	}
	wants(t, path, "ours", 0o600)
	wants(t, other, "theirs", 0o600)
}

// TestAFailedWriteChangesNothing: the old file stays, whole, and no draft is left.
func TestAFailedWriteChangesNothing(t *testing.T) {
	no := errors.New("no")
	for rule, o := range map[string]Options{
		"Ready fails":                {Ready: func() error { return no }},
		"Prepare fails":              {Prepare: func(*os.File) error { return no }},
		"the draft cannot be closed": {Prepare: func(f *os.File) error { return errors.Join(f.Close(), no) }},
	} {
		t.Run(rule, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Write(path, []byte("new"), o); !errors.Is(err, no) {
				t.Errorf("%v", err)
			}
			wants(t, path, "old", 0o600)
			if got := names(t, dir); got != "file" {
				t.Errorf("the directory contains %s", got)
			}
		})
	}
	t.Run("path is a directory", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := Write(path, []byte("new"), Options{}); err == nil {
			t.Error("the directory was replaced")
		}
		if got := names(t, dir); got != "file" {
			t.Errorf("the directory contains %s", got)
		}
	})
}

// TestReadersSeeTheOldOrTheNewFile: a reader finds a whole file while files are replaced.
func TestReadersSeeTheOldOrTheNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<16)}
	if err := Write(path, []byte(texts[0]), Options{}); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		for i := range 20 {
			err = errors.Join(err, Write(path, []byte(texts[i%2]), Options{}))
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != texts[0] && string(got) != texts[1] {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

// TestSystemsThatCannotFlushADirectory: they return EINVAL. A pipe stands in for the directory,
// because flushing it returns the same error.
func TestSystemsThatCannotFlushADirectory(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := syncDir(r, nil); err != nil {
		t.Error(err)
	}
	if err := SyncDir(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestWriteIn: it writes files below the root, and refuses a name that leads out of it.
func TestWriteIn(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700), os.Symlink(other, filepath.Join(dir, "out"))); err != nil {
		t.Skip(err)
	}
	if err := WriteIn(root, "a/file", []byte("text"), Options{}); err != nil {
		t.Fatal(err)
	}
	wants(t, filepath.Join(dir, "a", "file"), "text", 0o600)
	if err := WriteIn(root, "out/file", []byte("text"), Options{}); err == nil || names(t, other) != "" {
		t.Errorf("it wrote outside: %v", err)
	}
}

// TestErrorsNameTheFile: an error about the draft has the whole path of the file.
func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.MkdirAll(filepath.Join(dir, "taken", "by a directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"missing/file", "taken"} {
		at, ok := errors.AsType[*fs.PathError](WriteIn(root, name, nil, Options{}))
		if !ok || at.Path != filepath.Join(dir, name) {
			t.Errorf("%s: %v", name, at)
		}
	}
}

// TestAdopt: the draft replaces the file, and its own name is gone.
func TestAdopt(t *testing.T) {
	dir := t.TempDir()
	draft, path := filepath.Join(dir, "a.partial"), filepath.Join(dir, "a")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.WriteFile(draft, []byte("new"), 0o600), Adopt(draft, path)); err != nil {
		t.Fatal(err)
	}
	wants(t, path, "new", 0o600)
	if got := names(t, dir); got != "a" {
		t.Errorf("the directory contains %s", got)
	}
}
