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
	lines, err := s.readAll(rotatedPath(f.path))
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

// poll reads new lines. If a new file was begun, the rest of the old one comes first. Each file is
// compared after it was opened, because it may be rotated at any moment.
func (f *Follower) poll() ([]Line, error) {
	file, now, err := open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var rest []Line
	if f.file != nil && !os.SameFile(f.file, now) {
		if rest, err = f.rotated(); err != nil {
			return nil, err
		}
		f.offset = 0
	}
	f.file = now
	lines, end := f.store.read(file, now, f.offset)
	f.offset = end
	return append(rest, lines...), nil
}

// rotated reads the rest of the file that was read so far, if it is the one that was rotated last.
func (f *Follower) rotated() ([]Line, error) {
	file, info, err := open(rotatedPath(f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if !os.SameFile(info, f.file) {
		return nil, nil
	}
	lines, _ := f.store.read(file, info, f.offset)
	return lines, nil
}
