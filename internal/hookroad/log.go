package hookroad

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// LogName is the log of events that nobody could be asked about, below the state directory. When it
// has grown to maxLog it becomes LogName.1, in the place of the one before.
const LogName = "hook.log"

const maxLog = 256 << 10

// What became of an event that nobody could be asked about.
const (
	Denied    = "denied"     // a plugin that has to be asked stands at one of its points
	NoOpinion = "no_opinion" // the agent went on
)

// An Entry is one line of the log: an event that nobody could be asked about.
type Entry struct {
	Time    time.Time      `json:"time"`
	Agent   codehook.Agent `json:"agent"`
	Event   string         `json:"event"`
	Session string         `json:"session,omitempty"` // the agent's own id
	What    string         `json:"what"`              // Denied or NoOpinion
	Why     string         `json:"why"`
}

// maxWhy is how much is told of a cause.
const maxWhy = 1000

// Append adds an entry to the log below a state directory.
func (e Entry) Append(state string) error {
	e.Why = e.Why[:min(len(e.Why), maxWhy)]
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	path := filepath.Join(state, LogName)
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have been faster
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // one write, which the kernel puts behind those of others as a whole
	return errors.Join(err, f.Close())
}

// ReadLog reads the log below a state directory, the oldest entry first. Lines that are no entries
// are passed over.
func ReadLog(state string) ([]Entry, error) {
	var entries []Entry
	for _, name := range []string{LogName + ".1", LogName} {
		text, err := plainfile.Read(filepath.Join(state, name), 2*maxLog)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return entries, err
		}
		for line := range bytes.Lines(text) {
			var e Entry
			if json.Unmarshal(line, &e) == nil && e.What != "" {
				entries = append(entries, e)
			}
		}
	}
	return entries, nil
}
