package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// examinePlaces returns a finding for each of Patchbay's directories that cannot be written, or
// made.
func (a *app) examinePlaces() []pluginhost.Finding {
	dirs, err := a.configDirs()
	if err != nil {
		return nil // there is no home directory, which is reported elsewhere
	}
	var out []pluginhost.Finding
	for _, place := range []struct{ dir, lost string }{
		{dirs.Data, "sessions, traces and the data of plugins are not stored"},
		{dirs.State, "there is no log, and no daemon can run"},
	} {
		there, err := unwritable(place.dir)
		if err == nil {
			continue
		}
		out = append(out, pluginhost.Finding{Severity: pluginhost.SeverityError, Where: place.dir,
			Problem: fmt.Sprintf("%s cannot be written (%v): %s", there, err, place.lost),
			Fix: fmt.Sprintf("let your user write there (`ls -ld %s` shows its owner and its mode), or set $PATCHBAY_HOME to a directory that your user can write to",
				program.Quote(there))})
	}
	return out
}

// unwritable returns the nearest directory above path, or path itself, that exists, and why no
// file can be made in it.
func unwritable(path string) (there string, err error) {
	info, err := os.Stat(path)
	for ; errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path); info, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	switch at, ok := errors.AsType[*fs.PathError](err); {
	case ok:
		return path, at.Err
	case err != nil:
		return path, err
	case !info.IsDir():
		return path, errors.New("it is not a directory")
	}
	return path, mayWrite(path)
}
