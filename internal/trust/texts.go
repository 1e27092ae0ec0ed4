package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// The limits of the stored texts of one plugin. People do not read more than this.
const (
	maxText   = 256 << 10 // of one file
	maxTexts  = 2 << 20   // of all its files
	mostTexts = 1000      // texts, each in its own file in the directory of texts
	maxNotes  = 8 << 20   // of the notes about files without a text, of which there may be MostFiles
)

// shortestSecret is the length of the shortest secret that is searched for in files. A shorter one
// occurs everywhere.
const shortestSecret = 6

// A Book is a lock, with the texts of the files that it names. The texts are used to show a change
// line by line. They decide nothing: if a text is lost or damaged, it is not shown, and a message
// says so.
//
// Each text is in a file that is named by the SHA-256 of the text, and is used only while name and
// text match. [NotesName] names the file that says why other files have no text.
type Book struct {
	Lock    string          // the path of patchbay.lock
	Texts   string          // the directory of the texts, only of this lock; "": none are stored
	Secrets func() []string // a file that contains one of them is neither stored nor shown; may be nil
}

// A Content is a file's text, or why there is none.
type Content struct {
	Size int64  `json:"size"`
	Why  string `json:"why,omitempty"`
	Text string `json:"-"`
}

// NotesName returns the name of the file of notes for a plugin with these files. The notes say, by
// the sum of each file without a text, how large the file is and why it has no text.
func NotesName(files []File) string { return Digest(files) + ".json" }

// Keep stores the texts of the files of a plugin that is being recorded. It is called while the
// lock is held. After an error the plugin is recorded anyway, and its changes cannot be shown line
// by line.
func (b Book) Keep(roots []Root, files []File) error {
	if b.Texts == "" {
		return nil
	}
	if err := os.MkdirAll(b.Texts, 0o700); err != nil {
		return err
	}
	dir, err := os.OpenRoot(b.Texts)
	if err != nil {
		return err
	}
	defer dir.Close()
	found, err := b.contents(roots, nil)
	if err != nil {
		return err
	}
	notes := make(map[string]Content)
	for _, f := range files {
		c, there := found[f.Path]
		switch {
		case there && c.Why != "":
			notes[f.Sum] = c
		case there && sum([]byte(c.Text)) == f.Sum:
			if err := store(dir, f.Sum, []byte(c.Text)); err != nil {
				return err
			}
		}
	}
	text, err := json.Marshal(notes)
	if err != nil {
		return err
	}
	return store(dir, NotesName(files), text)
}

// store writes a file, unless one with this name and length exists.
func store(dir *os.Root, name string, text []byte) error {
	if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(text)) {
		return nil
	}
	return atomicfile.WriteIn(dir, name, text, atomicfile.Options{NoSync: true})
}

// contents reads the wanted files of roots; if wanted is nil, all of them. The result has, by path,
// each file's text, or why the text is neither stored nor shown.
func (b Book) contents(roots []Root, wanted func(path string) bool) (map[string]Content, error) {
	var secrets []string
	if b.Secrets != nil {
		secrets = slices.DeleteFunc(b.Secrets(), func(s string) bool { return len(strings.TrimSpace(s)) < shortestSecret })
	}
	found := make(map[string]Content)
	texts, room := 0, int64(maxTexts)
	err := walk(roots, func(v visited) error {
		if wanted != nil && !wanted(v.name) {
			return nil
		}
		if size := v.info.Size(); size <= maxText && (texts == mostTexts || size > room) { // it is not even read
			found[v.name] = Content{Size: size, Why: fmt.Sprintf("the plugin has more than %d files or %d MiB of text", mostTexts, maxTexts>>20)}
			return nil
		}
		c := v.content(secrets)
		if c.Why == "" {
			texts, room = texts+1, room-int64(len(c.Text))
		}
		found[v.name] = c
		return nil
	})
	return found, err
}

// content reads one file.
func (v visited) content(secrets []string) Content {
	if v.info.Mode()&fs.ModeSymlink != 0 {
		return Content{Size: int64(len(v.target)), Text: v.target}
	}
	c := Content{Size: v.info.Size()}
	if c.Size > maxText {
		c.Why = fmt.Sprintf("larger than %d KiB", maxText>>10)
		return c
	}
	text, err := plainfile.Read(v.path, maxText)
	switch {
	case err != nil:
		c.Why = "it cannot be read: " + err.Error()
	case !utf8.Valid(text) || slices.Contains(text, 0):
		c.Why = "binary"
	case slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(string(text), strings.TrimSpace(s)) }):
		c.Why = "it contains a secret"
	default:
		c.Size, c.Text = int64(len(text)), string(text)
	}
	return c
}

// recorded returns what is known about a file's recorded state.
func (b Book) recorded(dir *os.Root, notes map[string]Content, f File) Content {
	lost := Content{Size: -1, Why: "its former text was not stored"}
	if c, ok := notes[f.Sum]; ok {
		return c
	}
	if dir == nil {
		return lost
	}
	text, err := readIn(dir, f.Sum, maxText)
	if err != nil || sum(text) != f.Sum {
		return lost
	}
	return Content{Size: int64(len(text)), Text: string(text)}
}

// notes reads what is known about an entry's files without a text.
func (b Book) notes(dir *os.Root, e *Entry) map[string]Content {
	var notes map[string]Content
	if dir == nil {
		return nil
	}
	text, err := readIn(dir, NotesName(e.Files), maxNotes)
	if err != nil || json.Unmarshal(text, &notes) != nil {
		return nil
	}
	return notes
}

// readIn reads a regular file in a directory.
func readIn(dir *os.Root, name string, most int64) ([]byte, error) {
	if info, err := dir.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, plainfile.ErrKind)
	}
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// sweep removes the texts that no entry names any more. It is called while the lock is held.
func (b Book) sweep(l *Lock) error {
	names, err := os.ReadDir(b.Texts)
	if b.Texts == "" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	named := make(map[string]bool)
	for _, e := range l.Entries {
		named[NotesName(e.Files)] = true
		for _, f := range e.Files {
			named[f.Sum] = true
		}
	}
	dir, openErr := os.OpenRoot(b.Texts)
	if err = errors.Join(err, openErr); err != nil {
		return err
	}
	defer dir.Close()
	left := len(names)
	for _, n := range names {
		if !named[n.Name()] {
			left--
			err = errors.Join(err, dir.RemoveAll(n.Name()))
		}
	}
	if left == 0 && err == nil {
		err = os.Remove(b.Texts)
	}
	return err
}
