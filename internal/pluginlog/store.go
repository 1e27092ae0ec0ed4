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
	maxFile = 1 << 20 // of one file; there are two
	maxLine = 8 << 10 // as much as the host keeps of a line of stderr
)

// A Store is the logs of all plugins.
type Store struct {
	Dir     string
	Secrets func() []string // texts that are not to be kept; asked once, before the first line. May be nil

	once    sync.Once
	hidden  *strings.Replacer
	mu      sync.Mutex // serialises the writes of this process
	failing bool       // the last line could not be kept; protected by mu
}

// A Line is one of a plugin's log.
type Line struct {
	Time  time.Time `json:"time"`
	Level string    `json:"level"` // stderr | info | warning | error
	Text  string    `json:"text"`
}

// Dir is where the logs of plugins are, below a state directory.
func Dir(state string) string { return filepath.Join(state, "plugins") }

// File is where the log of a plugin is. Whatever the plugin is called, it lies in the store's
// directory.
func (s *Store) File(dialect, name string) string {
	return filepath.Join(s.Dir, safeName(dialect), safeName(name)+".log")
}

// safeName is a name that leads nowhere, and is another for another name.
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

// appendLine appends a line. The error is told once, until a line can be kept again.
func (s *Store) appendLine(dialect, name string, l Line) error {
	s.once.Do(s.loadSecrets)
	l.Text = s.hidden.Replace(excerpt.Head(l.Text, maxLine))
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

// minSecret is the shortest text that is taken for a secret: a shorter one is in every other line.
const minSecret = 6

// loadSecrets asks for the secrets.
func (s *Store) loadSecrets() {
	var pairs []string
	if s.Secrets != nil {
		for _, text := range s.Secrets() {
			if len(text) >= minSecret {
				pairs = append(pairs, text, "[secret]")
			}
		}
	}
	s.hidden = strings.NewReplacer(pairs...)
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
	_, err = f.Write(line) // at once, so that lines of several processes do not mix
	return err
}

// rotatedPath is where the lines before the present file are.
func rotatedPath(path string) string { return path + ".1" }

// rotate begins a new file. Of several processes that find the file full, one does.
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
		return nil // another process has
	}
	return os.Rename(path, rotatedPath(path))
}

// Lines are the last lines of a plugin's log, at most so many.
func (s *Store) Lines(dialect, name string, most int) ([]Line, error) {
	var all []Line
	for _, path := range []string{rotatedPath(s.File(dialect, name)), s.File(dialect, name)} {
		lines, _, err := readFrom(path, 0)
		if err != nil {
			return nil, err
		}
		all = append(all, lines...)
	}
	return all[max(0, len(all)-most):], nil
}

// readFrom reads the whole lines of a file after an offset. A file that is not there has none.
func readFrom(path string, offset int64) (lines []Line, end int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, offset, nil
	}
	if err != nil {
		return nil, offset, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, offset, err
	}
	text := make([]byte, min(max(info.Size()-offset, 0), 2*maxFile)) // who follows a log asks often
	n, _ := f.ReadAt(text, offset)                                   // its end is no error
	text = text[:n]
	whole := bytes.LastIndexByte(text, '\n') + 1
	for raw := range bytes.Lines(text[:whole]) {
		var l Line
		if json.Unmarshal(raw, &l) != nil {
			l = Line{Level: "info", Text: excerpt.Of(string(raw), 200)} // damaged, and shown as it is
		}
		lines = append(lines, l)
	}
	return lines, offset + int64(whole), nil
}
