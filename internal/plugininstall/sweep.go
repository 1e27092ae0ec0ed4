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

// unfinished is a file in a staging directory of a plugin's files. It contains the name of the
// program that starts the plugin. The files are put in place first, and that program after them. If
// the process is killed between the two, [Sweep] removes the files.
const unfinished = "unfinished"

// markUnfinished makes that file for a new plugin. A plugin that is replaced needs none, because
// its program is always there.
func (i *installation) markUnfinished() error {
	if exists(i.target) {
		return nil
	}
	return os.WriteFile(filepath.Join(filepath.Dir(i.stagedF), unfinished), []byte(filepath.Base(i.target)), 0o600)
}

// Sweep removes what killed installations have left: in the folders of all dialects, and among the
// files of plugins in Patchbay's directory.
func Sweep(o Options) error {
	var errs []error
	for _, p := range pluginhost.PluginFolders(o.Environ) {
		kept := filepath.Dir(pluginhost.InstalledFiles(o.Dirs, p.Dialect, "x"))
		errs = append(errs, takeBack(kept, p.Dir), sweep(kept), sweep(p.Dir))
	}
	return errors.Join(append(errs, sweep(stages(o.Dirs)))...)
}

func sweep(dir string) error {
	if err := scratch.Sweep(dir); !isUnreachable(err) {
		return err
	}
	return nil
}

// isUnreachable reports whether err is that of a place that does not exist, or that this user may
// not read. Such a place has no files of ours.
func isUnreachable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// takeBack removes files of plugins whose installation did not finish.
func takeBack(kept, place string) error {
	left, err := scratch.Left(kept)
	if isUnreachable(err) {
		return nil
	}
	for _, stage := range left {
		name, readErr := plainfile.Read(filepath.Join(stage, unfinished), 255)
		if readErr != nil || !filepath.IsLocal(string(name)) || exists(filepath.Join(place, string(name))) {
			continue // the installation had not come so far, or had put the program in place
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
