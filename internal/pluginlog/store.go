package pluginlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/filelock"
)

const (
	maxFile = 1 << 20 // bytes of one file; there are two files
	maxLine = 8 << 10 // bytes of one line; the host cuts lines of stderr at the same length
)

// A Store stores the logs of all plugins.
type Store struct {
	Dir   string
	Clean func(text string) string // removes secrets from lines that are stored, and from those that are read, because secrets may have been added since; nil: removes nothing

	mu      sync.Mutex // serialises the writes of this process
	failing bool       // the last line could not be stored; protected by mu
}

// A Line is one line of a plugin's log.
type Line struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"` // stderr | info | warning | error
	Text  string    `json:"text"`
}

// Dir returns the directory of the plugins' logs below a state directory.
func Dir(state string) string { return filepath.Join(state, "plugins") }

// File returns the path of a plugin's log. Whatever the name of the plugin, the path is in the
// store's directory.
func (s *Store) File(dialect, name string) string {
	return filepath.Join(s.Dir, safeName(dialect), safeName(name)+".log")
}

// safeName escapes a name for use as a file name. It uses only the beginning of a long name.
func safeName(name string) string {
	var b strings.Builder
	for _, c := range []byte(excerpt.Head(name, 80)) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() == 0 {
		return "%"
	}
	return b.String()
}

// appendLine appends a line. It returns an error only for the first of several failures in a row.
func (s *Store) appendLine(dialect, name string, l Line) error {
	l.Text = excerpt.Head(s.clean(l.Text), maxLine) // a secret is replaced before it can be cut in two
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = appendTo(s.File(dialect, name), append(text, '\n'))
	told := s.failing
	s.failing = err != nil
	if told {
		return nil
	}
	return err
}

func (s *Store) clean(text string) string {
	if s.Clean == nil {
		return text
	}
	return s.Clean(text)
}

func appendTo(path string, line []byte) (err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		if err := rotate(path); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(line) // in one write, so that lines of several processes do not mix
	return err
}

// rotatedPath returns the path of the previous file.
func rotatedPath(path string) string { return path + ".1" }

// rotate begins a new file. If several processes find the file full, one of them does it.
func rotate(path string) (err error) {
	guard, err := filelock.Open(filepath.Join(filepath.Dir(path), ".rotate"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guard.Close()) }()
	if info, err := os.Lstat(path); err != nil || info.Size() <= maxFile {
		return nil // another process has done it
	}
	return os.Rename(path, rotatedPath(path))
}

// readAll reads the complete lines of a file. A file that does not exist has no lines.
func (s *Store) readAll(path string) ([]Line, error) {
	f, info, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, _ := s.read(f, info, 0)
	return lines, nil
}

func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// read reads the complete lines of an open file after an offset, and returns where they end.
func (s *Store) read(f *os.File, info os.FileInfo, offset int64) (lines []Line, end int64) {
	text := make([]byte, min(max(info.Size()-offset, 0), 2*maxFile)) // limited, because a file that could not be rotated grows
	n, _ := f.ReadAt(text, offset)                                   // the end of the file is not an error
	text = text[:n]
	whole := bytes.LastIndexByte(text, '\n') + 1
	for raw := range bytes.Lines(text[:whole]) {
		var l Line
		if json.Unmarshal(raw, &l) != nil {
			l = Line{Level: "info", Text: excerpt.Of(string(raw), 200)} // a damaged line is shown as it is
		}
		l.Text = s.clean(l.Text)
		lines = append(lines, l)
	}
	return lines, offset + int64(whole)
}
