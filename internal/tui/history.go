package tui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// How much of what was typed is kept: years of it for most, and a file that is read in a few
// milliseconds. A message longer than maxEntry is not one that somebody would want to find with the
// arrow keys.
const (
	maxEntries     = 1000
	maxEntry       = 64 << 10
	maxHistoryFile = 8 << 20
)

// A history keeps what was typed in a file: a JSON string a line, oldest first.
type history struct {
	path string     // "": nothing is kept
	mu   sync.Mutex // one change to the file at a time
}

// load reads the file. Lines that are no JSON strings are passed over: another program's file, or
// another version's, must not keep anybody from talking.
func (h *history) load() ([]string, error) {
	if h.path == "" {
		return nil, nil
	}
	f, err := plainfile.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("input history: %w", err)
	}
	defer f.Close()
	entries, err := readEntries(io.LimitReader(f, maxHistoryFile))
	if err != nil {
		return nil, fmt.Errorf("input history %s: %w", h.path, err)
	}
	return entries, nil
}

func readEntries(r io.Reader) ([]string, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxHistoryFile)
	var entries []string
	for lines.Scan() {
		var text string
		if json.Unmarshal(lines.Bytes(), &text) == nil && text != "" {
			entries = append(entries, text)
		}
	}
	return lastEntries(entries), lines.Err()
}

func lastEntries(entries []string) []string { return entries[max(len(entries)-maxEntries, 0):] }

// add keeps a text. The file is read again first, for another chat may have written to it since.
func (h *history) add(text string) error {
	if h.path == "" || len(text) > maxEntry {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	entries, err := h.load()
	if err != nil {
		return err
	}
	if err := h.write(remember(entries, text)); err != nil {
		return fmt.Errorf("input history: %w", err)
	}
	return nil
}

// remember adds a text to the entries, unless it is the last one again.
func remember(entries []string, text string) []string {
	if text == "" || len(entries) > 0 && entries[len(entries)-1] == text {
		return entries
	}
	return lastEntries(append(slices.Clip(entries), text))
}

// write replaces the file in one step: it is the old one or the new one, never half of either.
func (h *history) write(entries []string) error {
	var b bytes.Buffer
	for _, text := range entries {
		line, err := json.Marshal(text)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(h.path, b.Bytes(), atomicfile.Options{}) // the user's alone: people paste secrets
}
