package plugininstall

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// trimPrefix returns the name of a dotagent plugin from the name of its file.
func trimPrefix(file string) string { return strings.TrimPrefix(file, "dotagent-plugin-") }

// Removed is a plugin that was removed.
type Removed struct {
	Name    string `json:"name"`
	Dialect string `json:"dialect"`
	Path    string `json:"path"`
	Files   string `json:"files"` // "": it had none elsewhere
	DryRun  bool   `json:"dry_run"`

	stages []string
}

// Clean deletes the files. It is called when no process uses them any more.
func (r *Removed) Clean() error { return (&Placed{stages: r.stages}).Clean() }

// Remove removes a plugin from its place and from the lock. name is the name of its place. Only
// files in a place of its dialect are removed; of a link, only the link.
func Remove(o Options, dialectName, name, path string, dry bool) (r *Removed, err error) {
	folders := pluginhost.PluginFolders(o.Environ)
	if !slices.ContainsFunc(folders, func(p dialect.Folder) bool { return p.Dialect == dialectName && p.Dir == filepath.Dir(path) }) {
		return nil, &TakenError{fmt.Sprintf("%s is not where plugins of %s are installed", path, dialectName), "remove the file yourself, if it is yours"}
	}
	r = &Removed{Name: name, Dialect: dialectName, Path: path, DryRun: dry}
	if files := pluginhost.InstalledFiles(o.Dirs, dialectName, name); exists(files) && filepath.IsLocal(name) {
		r.Files = files
	}
	if dry {
		return r, nil
	}
	var back []func() error
	err = o.book().Update(func(l *trust.Lock) (bool, error) {
		for _, p := range []string{path, r.Files} {
			if p == "" {
				continue
			}
			undo, err := r.aside(p)
			if err != nil {
				return false, err
			}
			back = append(back, undo)
		}
		l.Remove(dialectName, name)
		return true, nil
	})
	if err == nil {
		return r, nil
	}
	for _, undo := range back {
		err = errors.Join(err, undo())
	}
	return nil, errors.Join(err, r.Clean())
}

// aside moves the removed files into a staging directory. undo moves them back.
func (r *Removed) aside(path string) (undo func() error, err error) {
	stage, err := scratch.MakeIn(filepath.Dir(path), "remove")
	if err != nil {
		return nil, err
	}
	r.stages = append(r.stages, stage)
	to := filepath.Join(stage, filepath.Base(path))
	return func() error { return os.Rename(to, path) }, os.Rename(path, to)
}
