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

// The limits of the history: years of messages for most users, in a file that is read in a few
// milliseconds. People do not look for a message longer than maxEntry with the arrow keys.
const (
	maxEntries     = 1000
	maxEntry       = 64 << 10
	maxHistoryFile = 8 << 20
)

// A history stores the typed messages in a file: one JSON string a line, oldest first.
type history struct {
	path string     // "": nothing is stored
	mu   sync.Mutex // one change to the file at a time
}

// load reads the file. It ignores lines that are not JSON strings: a file of another program or
// version must not prevent a conversation.
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

// add stores a text. It reads the file again first, because another chat may have written to it.
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

// remember adds a text to the entries, unless it equals the last one.
func remember(entries []string, text string) []string {
	if text == "" || len(entries) > 0 && entries[len(entries)-1] == text {
		return entries
	}
	return lastEntries(append(slices.Clip(entries), text))
}

// write replaces the file in one step: readers find the old one or the new one.
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
	return atomicfile.Write(h.path, b.Bytes(), atomicfile.Options{}) // readable only by the user: people paste secrets
}
