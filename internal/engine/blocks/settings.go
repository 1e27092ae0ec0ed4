package blocks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// settingsFiles say how a stream is kept. The server does not open a stream where they do not fit
// together; the engine makes the stream again when it is next used, and finds all of its messages.
func settingsFiles() []string { return []string{"meta.inf", "meta.sum"} }

// badSettings tells whether a stream has settings that are not whole. One that has none is being
// made.
func (p place) badSettings() bool {
	_, err := readMeta(p.dir, "", p.name)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || p.halfSettings()
}

// halfSettings tells whether one of the two files is there without the other.
func (p place) halfSettings() bool {
	n := 0
	for _, name := range settingsFiles() {
		if _, err := os.Stat(filepath.Join(p.dir, name)); err == nil {
			n++
		}
	}
	return n == 1
}

func (p place) noSettings() bool {
	_, err := os.Stat(filepath.Join(p.dir, settingsFiles()[0]))
	return errors.Is(err, fs.ErrNotExist)
}

// dropSettings keeps damaged settings aside, so that the engine writes them anew.
func (m *repairer) dropSettings(s *stream) error {
	for _, name := range settingsFiles() {
		path := filepath.Join(s.dir, name)
		_, err := m.report.keep(s.name, path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(s.dir)
}
