package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/patchbay-dev/patchbay/internal/daemon"
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
			Fix:     placeFix(there, err)})
	}
	return out
}

// examineModel returns why the agent cannot use the configured model. That is a warning: the key
// may be set only where the agent runs, and --model may choose another.
func (a *app) examineModel() []pluginhost.Finding {
	dirs, err := a.configDirs()
	if err != nil {
		return nil // there is no home directory, which is reported elsewhere
	}
	err = daemon.ExamineModel(dirs, a.Environ)
	if err == nil {
		return nil
	}
	where := dirs.ConfigFile
	if a.getenv("PATCHBAY_MODEL") != "" {
		where = "$PATCHBAY_MODEL"
	}
	return []pluginhost.Finding{{Severity: pluginhost.SeverityWarning, Where: where,
		Problem: "the agent cannot use its model: " + message(kindConfig, err), Fix: fixOf(err)}}
}

// placeFix returns how to make a place writable.
func placeFix(there string, err error) string {
	fix := fmt.Sprintf("let your user write there (`ls -ld %s` shows its owner and its mode)", program.Quote(there))
	if errors.Is(err, errNoDirectory) {
		fix = "move that file away"
	}
	return fix + ", or set $PATCHBAY_HOME to a directory that your user can write to"
}

// unwritable returns the nearest directory above path, or path itself, that exists, and why no
// file can be made in it.
func unwritable(path string) (there string, err error) {
	info, err := os.Stat(path)
	for ; notThere(err) && path != filepath.Dir(path); info, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	switch at, ok := errors.AsType[*fs.PathError](err); {
	case ok:
		return path, at.Err
	case err != nil:
		return path, err
	case !info.IsDir():
		return path, errNoDirectory
	}
	return path, mayWrite(path)
}

// errNoDirectory is the error of a path that is a file.
var errNoDirectory = errors.New("it is not a directory")

// notThere reports whether a path does not exist, also because a part of it is a file.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
