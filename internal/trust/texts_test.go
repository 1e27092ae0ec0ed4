package trust

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// reader is a plugin in a book with texts.
type reader struct {
	*stage
	keeper *Keeper
}

func newReader(t *testing.T) reader {
	t.Helper()
	s := newStage(t)
	k, err := open(Options{Policy: Record, Path: s.lock, Texts: filepath.Join(t.TempDir(), "texts"), Secrets: func() []string { return []string{"hunter2hunter2", "1"} }})
	if err != nil {
		t.Fatal(err)
	}
	return reader{s, k}
}

// record records the plugin as it is.
func (r reader) record() *Entry {
	r.t.Helper()
	e, err := r.keeper.Trust(r.plugin(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// explain returns what has changed since, by path.
func (r reader) explain(e *Entry) map[string]FileChange {
	r.t.Helper()
	now, err := Take(r.plugin().Roots)
	if err != nil {
		r.t.Fatal(err)
	}
	changes, err := r.keeper.Book().Explain(e, r.plugin().Roots, now)
	if err != nil {
		r.t.Fatal(err)
	}
	out := make(map[string]FileChange)
	for _, c := range changes {
		out[c.Path] = c
	}
	return out
}

// kept returns the names of the stored texts.
func (r reader) kept() []string {
	entries, err := os.ReadDir(r.keeper.o.Texts)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			r.t.Errorf("%v %v", info.Mode(), err)
		}
	}
	return names
}

// TestTextsOfChanges: a change is reported with the texts of before and now, or with sizes, sums
// and the reason for missing texts.
func TestTextsOfChanges(t *testing.T) {
	r := newReader(t)
	large := strings.Repeat("x", maxText)
	r.write("large", large+"y")
	r.write("binary", "a\x00b")
	r.write("latin", "caf\xe9")
	r.write("token", "key = hunter2hunter2\n")
	r.write("one", "1\n")
	if err := os.Symlink("lib/words.txt", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	e := r.record()
	for _, name := range []string{"large", "binary", "latin", "token"} {
		r.write(name, "now\n")
	}
	r.write("one", "2\n")
	r.write("lib/words.txt", "two\n")
	r.write("added", "hunter2hunter2")
	link := filepath.Join(r.dir, "link")
	if err := errors.Join(os.Remove(filepath.Join(r.dir, "run.sh")), os.Remove(link), os.Symlink("/etc/passwd", link)); err != nil {
		t.Fatal(err)
	}
	got := r.explain(e)
	for _, want := range []FileChange{
		{Change: Change{"large", "changed"}, Why: "larger than 256 KiB"},
		{Change: Change{"binary", "changed"}, Why: "binary"},
		{Change: Change{"latin", "changed"}, Why: "binary"},
		{Change: Change{"token", "changed"}, Why: "it contains a secret"},
		{Change: Change{"added", "added"}, Why: "it contains a secret"},
		{Change: Change{"one", "changed"}, Old: "1\n", New: "2\n"},
		{Change: Change{"lib/words.txt", "changed"}, Old: "one\n", New: "two\n"},
		{Change: Change{"run.sh", "removed"}, Old: "#!/bin/sh\n"},
		{Change: Change{"link", "changed"}, Old: "lib/words.txt", New: "/etc/passwd"},
	} {
		c := got[want.Path]
		if c.Kind != want.Kind || c.Why != want.Why || c.Old != want.Old || c.New != want.New {
			t.Errorf("%+v, want %+v", c, want)
		}
		if (c.Before == nil) != (c.Kind == "added") || (c.Now == nil) != (c.Kind == "removed") {
			t.Errorf("%s: before %v, now %v", c.Path, c.Before, c.Now)
		}
		if c.Before != nil && (c.Before.Size == nil || len(c.Before.SHA256) != 64) {
			t.Errorf("%s: %+v", c.Path, c.Before)
		}
	}
	if len(got) != 9 || *got["large"].Before.Size != maxText+1 {
		t.Errorf("%+v", got)
	}
}

// TestTextsAreBounded: the stored and shown texts of one plugin are limited.
func TestTextsAreBounded(t *testing.T) {
	r := newReader(t)
	for c := byte('a'); c < 'l'; c++ {
		r.write("f"+string(c), strings.Repeat(string(c), maxText-1))
	}
	e := r.record()
	size := 0
	for _, name := range r.kept() {
		text, err := os.ReadFile(filepath.Join(r.keeper.o.Texts, name))
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
	}
	if size > maxTexts+1000 || size < maxTexts-maxText {
		t.Errorf("%d bytes are kept", size)
	}
	r.write("fk", "now\n")
	if c := r.explain(e)["fk"]; !strings.Contains(c.Why, "2 MiB of text") || *c.Before.Size != maxText-1 || c.New != "" {
		t.Errorf("%+v", c)
	}
}

// TestTextsAreSwept: a text stays as long as the lock names it, and other files beside them are
// removed.
func TestTextsAreSwept(t *testing.T) {
	r := newReader(t)
	r.record()
	if n := len(r.kept()); n != 3 { // two texts, and the notes
		t.Errorf("%q", r.kept())
	}
	if err := os.WriteFile(filepath.Join(r.keeper.o.Texts, ".patchbay-draft.tmp"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("lib/words.txt", "two\n")
	e := r.record()
	if names := strings.Join(r.kept(), " "); len(r.kept()) != 3 || !strings.Contains(names, sum([]byte("two\n"))) || strings.Contains(names, "draft") {
		t.Errorf("%s", names)
	}
	// A text whose content does not match its name is not used.
	if err := os.WriteFile(filepath.Join(r.keeper.o.Texts, sum([]byte("two\n"))), []byte("lie\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.write("lib/words.txt", "three\n")
	if c := r.explain(e)["lib/words.txt"]; c.Why != "its former text was not stored" || c.Old != "" || c.Before.Size != nil {
		t.Errorf("%+v", c)
	}
	if err := r.keeper.Forget("kaged", "notes"); err != nil || len(r.kept()) != 0 {
		t.Errorf("%v %q", err, r.kept())
	}
}

// TestOnlyWhatWasShownIsRecorded: a plugin that changes its files while the operator reads is not
// recorded.
func TestOnlyWhatWasShownIsRecorded(t *testing.T) {
	r := newReader(t)
	e := r.record()
	r.write("run.sh", "#!/bin/sh\nrm -rf /\n")
	if _, err := r.keeper.Trust(r.plugin(), e.Files); !errors.Is(err, ErrChangedSinceShown) {
		t.Errorf("%v", err)
	}
	if l, err := Load(r.lock); err != nil || len(Compare(l.Find("kaged", "notes").Files, e.Files)) != 0 {
		t.Errorf("the changed plugin was recorded: %v", err)
	}
}

// TestLockThatIsALink: a lock that is a link stays one, and its target is written. A broken link is
// refused.
func TestLockThatIsALink(t *testing.T) {
	s := newStage(t)
	real := filepath.Join(t.TempDir(), "dotfiles.lock")
	if err := errors.Join(os.MkdirAll(filepath.Dir(s.lock), 0o700), os.Symlink(real, s.lock)); err != nil {
		t.Fatal(err)
	}
	err := Book{Lock: s.lock}.Update(func(*Lock) (bool, error) { return true, nil })
	if bad, ok := errors.AsType[*document.Error](err); !ok || bad.Problems[0].Fix == "" {
		t.Fatalf("%v", err)
	}
	if err := os.WriteFile(real, []byte("version = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.want(s.judge(Record, s.plugin()), New)
	s.want(s.judge(Record, s.plugin()), Trusted)
	text, err := os.ReadFile(real)
	if info, statErr := os.Lstat(s.lock); statErr != nil || info.Mode()&fs.ModeSymlink == 0 || err != nil || !bytes.Contains(text, []byte(`name = "notes"`)) {
		t.Errorf("%v %v %v\n%s", info, statErr, err, text)
	}
}
