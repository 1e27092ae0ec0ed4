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
	return err != nil && !errors.Is(err, fs.ErrNotExist) || halfSettings(p.dir)
}

// halfSettings reports whether only one of the two files exists, of a stream or a consumer.
func halfSettings(dir string) bool {
	n := 0
	for _, name := range settingsFiles() {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			n++
		}
	}
	return n == 1
}

// droppedSettings reports whether a stream has blocks and no settings. A repair has moved damaged
// settings aside, and the engine has not used the stream since. The server writes the settings of a
// new stream before its first block.
func (p place) droppedSettings() bool {
	numbers, err := p.numbers()
	return err == nil && len(numbers) > 0 && p.noSettings() && !halfSettings(p.dir)
}

func (p place) noSettings() bool {
	_, err := os.Stat(filepath.Join(p.dir, settingsFiles()[0]))
	return errors.Is(err, fs.ErrNotExist)
}

// dropSettings moves damaged settings aside, so that the engine writes them again.
func (m *repairer) dropSettings(s *stream) error {
	return m.setAside(s.name, s.dir, settingsFiles())
}

// setAside copies files below the report, and removes them.
func (m *repairer) setAside(below, dir string, names []string) error {
	for _, name := range names {
		path := filepath.Join(dir, name)
		_, err := m.report.copyFile(below, path)
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
	return atomicfile.SyncDir(dir)
}
