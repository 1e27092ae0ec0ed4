package hookclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// LogName is the log of events for which there was no answer, below the state directory. When it
// has grown beyond maxLog, it is renamed to LogName.1, and replaces the file of that name.
const LogName = "hook.log"

const maxLog = 256 << 10

// The outcomes of an event for which there was no answer.
const (
	Denied    = "denied"     // one of its points has a plugin that must agree
	NoOpinion = "no_opinion" // the agent went on
)

// An Entry is one line of the log: an event for which there was no answer.
type Entry struct {
	Time    time.Time      `json:"time"`
	Agent   codehook.Agent `json:"agent"`
	Event   string         `json:"event"`
	Session string         `json:"session,omitempty"` // the agent's id
	What    string         `json:"what"`              // Denied or NoOpinion
	Why     string         `json:"why"`
}

// maxWhy limits the length of Why, in bytes.
const maxWhy = 1000

// Append adds an entry to the log below a state directory.
func (e Entry) Append(state string) error {
	if len(e.Why) > maxWhy {
		e.Why = strings.ToValidUTF8(e.Why[:maxWhy], "") // the cut may be inside a character
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	path := filepath.Join(state, LogName)
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) { // another process may have renamed it
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // a single write, so that lines of several processes do not mix
	return errors.Join(err, f.Close())
}

// ReadLog reads the log below a state directory, oldest entry first. It ignores lines that are not
// entries.
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
