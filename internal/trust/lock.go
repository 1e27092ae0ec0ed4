package trust

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// maxLock limits the lock file: some hundred plugins with a hundred files each.
const maxLock = 16 << 20

// version is the version of the file's format.
const version = 1

// An Origin is where a plugin was installed from. It is zero for a plugin that was put in its place
// by hand.
type Origin struct {
	Source string `json:"source"`           // as `patchbay plugin install` takes it
	Ref    string `json:"ref,omitempty"`    // of a git repository, as requested
	Commit string `json:"commit,omitempty"` // of a git repository, the commit of the ref
	Plugin string `json:"plugin,omitempty"` // which of several plugins in the source
}

// An Entry is one plugin in its trusted state.
type Entry struct {
	Dialect      string
	Name         string // the name of its place
	Path         string // its place when it was recorded; for people
	Origin       Origin
	Recorded     time.Time
	Capabilities []string // granted; nil: it declared none
	Files        []File   // by path
}

// A Lock is the content of patchbay.lock.
type Lock struct {
	Entries []*Entry // by dialect and name
}

// Find returns the entry of a plugin; nil: there is none.
func (l *Lock) Find(dialect, name string) *Entry {
	for _, e := range l.Entries {
		if e.Dialect == dialect && e.Name == name {
			return e
		}
	}
	return nil
}

// Put adds an entry, or replaces the one with its name.
func (l *Lock) Put(e *Entry) {
	l.Remove(e.Dialect, e.Name)
	l.Entries = append(l.Entries, e)
	slices.SortFunc(l.Entries, func(a, b *Entry) int { return cmp.Or(cmp.Compare(a.Dialect, b.Dialect), cmp.Compare(a.Name, b.Name)) })
}

// Remove removes an entry.
func (l *Lock) Remove(dialect, name string) {
	l.Entries = slices.DeleteFunc(slices.Clone(l.Entries), func(e *Entry) bool { return e.Dialect == dialect && e.Name == name })
}

// Load reads the lock. A missing lock is empty. A lock that cannot be read or understood is an
// error that says how to fix it; it is never replaced automatically.
func Load(path string) (*Lock, error) {
	data, err := plainfile.Read(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		fix := lockFix(path)
		if !errors.Is(err, plainfile.ErrKind) { // it may well be undamaged
			fix = fmt.Sprintf("let your user read it: `ls -l %s` shows what is there", program.Quote(path))
		}
		return nil, &document.Error{Problems: []document.Problem{{File: path, Message: err.Error(), Fix: fix}}}
	}
	return parse(path, data)
}

// lockFix says how to fix a damaged lock: patchbay.lock, or the one of trusted projects.
func lockFix(path string) string {
	return fmt.Sprintf("put back a good copy. If there is none: look at your plugins, remove %s, and record them again with `patchbay plugin trust --all`, those of a project with `patchbay project trust`", path)
}

func parse(path string, data []byte) (*Lock, error) {
	top, err := document.TOML(path, data)
	if err != nil {
		return nil, withFix(err, path)
	}
	if n := top.Number("version"); n == nil || *n != version {
		top.Bad("version", "", "this Patchbay reads locks of version %d", version)
	}
	l := &Lock{}
	for _, t := range top.Tables("plugin") {
		e := readEntry(t)
		if l.Find(e.Dialect, e.Name) != nil {
			t.Bad("name", "", "%s:%s is listed twice", e.Dialect, document.Cut(e.Name))
		}
		l.Put(e)
	}
	top.End()
	return l, withFix(top.Err(), path)
}

// withFix adds to every problem how a lock is fixed.
func withFix(err error, path string) error {
	if bad, ok := errors.AsType[*document.Error](err); ok {
		for i := range bad.Problems {
			bad.Problems[i].Fix = lockFix(path)
		}
	}
	return err
}

func readEntry(t *document.Table) *Entry {
	e := &Entry{
		Dialect: t.Required("dialect"), Name: t.Required("name"), Path: t.Text("path", ""),
		Origin: Origin{Source: t.Text("source", ""), Ref: t.Text("ref", ""), Commit: t.Text("commit", ""), Plugin: t.Text("plugin", "")},
	}
	var err error
	if e.Recorded, err = time.Parse(time.RFC3339, t.Text("recorded", "")); err != nil {
		t.Bad("recorded", "", "not a time")
	}
	if t.Has("capabilities") {
		e.Capabilities = append([]string{}, t.List("capabilities")...)
	}
	for i, line := range t.List("files") {
		f, ok := readFile(line)
		if !ok {
			t.BadItem("files", i, "", "not a sum, a mode and a path")
			continue
		}
		e.Files = append(e.Files, f)
	}
	slices.SortFunc(e.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	t.End()
	return e
}

// readFile reads "SUM MODE PATH".
func readFile(line string) (File, bool) {
	digest, rest, _ := strings.Cut(line, " ")
	mode, path, _ := strings.Cut(rest, " ")
	raw, err := hex.DecodeString(digest)
	f := File{Path: path, Mode: Mode(mode), Sum: digest}
	return f, err == nil && len(raw) == 32 && path != "" && slices.Contains([]Mode{Plain, Executable, Link}, f.Mode)
}

// text returns the lock as a file.
func (l *Lock) text() []byte {
	var b bytes.Buffer
	b.WriteString("# The files and capabilities of your plugins, as you trusted them. Patchbay writes this file: `patchbay plugin trust NAME` changes it.\n")
	fmt.Fprintf(&b, "version = %d\n", version)
	for _, e := range l.Entries {
		e.write(&b)
	}
	return b.Bytes()
}

func (e *Entry) write(b *bytes.Buffer) {
	b.WriteString("\n[[plugin]]\n")
	for _, field := range [][2]string{{"dialect", e.Dialect}, {"name", e.Name}, {"path", e.Path}, {"source", e.Origin.Source}, {"ref", e.Origin.Ref},
		{"commit", e.Origin.Commit}, {"plugin", e.Origin.Plugin}, {"recorded", e.Recorded.UTC().Format(time.RFC3339)}} {
		if field[1] != "" {
			fmt.Fprintf(b, "%s = %s\n", field[0], quote(field[1]))
		}
	}
	if e.Capabilities != nil {
		writeList(b, "capabilities", e.Capabilities)
	}
	lines := make([]string, len(e.Files))
	for i, f := range e.Files {
		lines[i] = f.Sum + " " + string(f.Mode) + " " + f.Path
	}
	writeList(b, "files", lines)
}

func writeList(b *bytes.Buffer, key string, items []string) {
	fmt.Fprintf(b, "%s = [", key)
	for _, item := range items {
		fmt.Fprintf(b, "\n  %s,", quote(item))
	}
	if len(items) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("]\n")
}

// quote returns a TOML string. JSON's escapes are valid in TOML, which also requires the delete
// character to be escaped.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string
	}
	return strings.ReplaceAll(string(raw), "\x7f", `\u007f`)
}

// save replaces the file as a whole. It does not write a lock that could not be read again: with
// such a lock no plugin starts.
func (l *Lock) save(path string) (err error) {
	text := l.text()
	if len(text) > maxLock {
		return fmt.Errorf("%s would have more than %d MiB", path, maxLock>>20)
	}
	if _, err := parse(path, text); err != nil {
		return fmt.Errorf("%s could not be read again: %w", path, err)
	}
	return atomicfile.Write(path, text, atomicfile.Options{})
}
