package pluginlog

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pause"
)

// pollEvery is how often a Follower looks for new lines.
const pollEvery = 200 * time.Millisecond

// A Follower reads new lines of a log.
type Follower struct {
	store  *Store
	path   string
	file   os.FileInfo // the file that is being read; nil: it does not exist yet
	offset int64
}

// Follow returns the last lines, and a follower for all lines after them. most is the largest
// number of lines that Follow itself returns.
func (s *Store) Follow(dialect, name string, most int) ([]Line, *Follower, error) {
	f := &Follower{store: s, path: s.File(dialect, name)}
	lines, _, err := s.readFrom(rotatedPath(f.path), 0)
	if err != nil {
		return nil, nil, err
	}
	current, err := f.poll() // a line that is written after this is read by the next poll
	if err != nil {
		return nil, nil, err
	}
	lines = append(lines, current...)
	return lines[max(0, len(lines)-most):], f, nil
}

// Next waits for new lines, until ctx ends.
func (f *Follower) Next(ctx context.Context) ([]Line, error) {
	for {
		lines, err := f.poll()
		if len(lines) > 0 || err != nil {
			return lines, err
		}
		if err := pause.For(ctx, pollEvery); err != nil {
			return nil, err
		}
	}
}

// poll reads new lines. If a new file was begun, the rest of the old one comes first.
func (f *Follower) poll() ([]Line, error) {
	now, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rest []Line
	if f.file != nil && !os.SameFile(f.file, now) {
		if old, err := os.Stat(rotatedPath(f.path)); err == nil && os.SameFile(old, f.file) {
			if rest, _, err = f.store.readFrom(rotatedPath(f.path), f.offset); err != nil {
				return nil, err
			}
		}
		f.offset = 0
	}
	f.file = now
	lines, end, err := f.store.readFrom(f.path, f.offset)
	f.offset = end
	return append(rest, lines...), err
}
