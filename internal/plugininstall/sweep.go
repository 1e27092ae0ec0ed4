package plugininstall

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/scratch"
)

// unfinished is a file in a staging directory of a plugin's files. It has the name of the plugin,
// and says that its files are put in place before the program that leads to them. Where the process
// is killed between the two, [Sweep] takes the files back.
const unfinished = "unfinished"

// markUnfinished is for a plugin that is new. Where one is replaced, the program is there all the
// time.
func (i *installation) markUnfinished() error {
	if exists(i.target) {
		return nil
	}
	return os.WriteFile(filepath.Join(filepath.Dir(i.stagedF), unfinished), []byte(filepath.Base(i.target)), 0o600)
}

// Sweep removes what killed installations have left: in the places of all dialects, and among the
// files that are kept for plugins.
func Sweep(o Options) error {
	var errs []error
	for _, p := range pluginhost.Places(o.Environ) {
		kept := filepath.Dir(pluginhost.InstalledFiles(o.Dirs, p.Dialect, "x"))
		errs = append(errs, takeBack(kept, p.Dir), sweep(kept), sweep(p.Dir))
	}
	return errors.Join(append(errs, sweep(stages(o.Dirs)))...)
}

func sweep(dir string) error {
	if err := scratch.Sweep(dir); !isElsewhere(err) {
		return err
	}
	return nil
}

// isElsewhere is the error of a place that is not there, or that this user may not read: nothing of
// ours is in it.
func isElsewhere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// takeBack removes files whose plugin did not come to be.
func takeBack(kept, place string) error {
	left, err := scratch.Left(kept)
	if isElsewhere(err) {
		return nil
	}
	for _, stage := range left {
		name, readErr := plainfile.Read(filepath.Join(stage, unfinished), 255)
		if readErr != nil || !filepath.IsLocal(string(name)) || exists(filepath.Join(place, string(name))) {
			continue // it was not yet that far, or further
		}
		entries, readErr := os.ReadDir(stage)
		if readErr != nil || len(entries) > 1 { // its files are still staged
			continue
		}
		err = errors.Join(err, removeNamed(kept, string(name)))
	}
	return err
}

// removeNamed removes the files of the plugin with that program.
func removeNamed(kept, program string) error {
	for _, name := range []string{program, trimPrefix(program)} {
		if dir := filepath.Join(kept, name); exists(dir) {
			return scratch.Remove(dir)
		}
	}
	return nil
}
