package blocks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/atomicfile"
)

// settingsFiles returns the files with the settings of a stream. The server does not open a stream
// if they do not match. The engine creates the stream again when it next uses it, and all messages
// are there.
func settingsFiles() []string { return []string{"meta.inf", "meta.sum"} }

// badSettings reports whether a stream has damaged settings. A stream without settings is just
// being created.
func (p place) badSettings() bool {
	_, err := readMeta(p.dir, "", p.name)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || p.halfSettings()
}

// halfSettings reports whether only one of the two files exists.
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

// dropSettings moves damaged settings aside, so that the engine writes them again.
func (m *repairer) dropSettings(s *stream) error {
	for _, name := range settingsFiles() {
		path := filepath.Join(s.dir, name)
		_, err := m.report.copyFile(s.name, path)
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
