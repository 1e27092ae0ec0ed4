package projectfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// A Store records which projects a user has trusted, and keeps copies of their plugins, in the
// user's own data. Nothing is stored in a project.
type Store struct {
	dirs config.Dirs
	dir  string // the directory of the copies
	lock string // the file that records what was trusted
}

// In returns the store of a user. It creates no files; [Store.Stage] is the first that does.
func In(d config.Dirs) Store {
	dir := filepath.Join(d.Data, "projects")
	return Store{dirs: d, dir: dir, lock: filepath.Join(dir, "projects.lock")}
}

// book returns the record of all projects, and the directory with the texts of their trusted files,
// which are needed to show changes.
func (s Store) book() trust.Book {
	return trust.Book{Lock: s.lock, Texts: filepath.Join(s.dir, "texts")}
}

// File returns the path of the file that records what was trusted.
func (s Store) File() string { return s.lock }

// The kinds of entries in the lock. The name of an entry is the root of its project.
const (
	kindTrusted  = "project"
	kindDeclined = "declined project"
)

// A State is the state of a project's plugins.
type State string

// The states.
const (
	None      State = "none"      // the project has no plugins
	Untrusted State = "untrusted" // the user was not asked about these
	Changed   State = "changed"   // they have changed since they were trusted
	Trusted   State = "trusted"
	Declined  State = "declined" // the user has declined exactly these
	Refused   State = "refused"  // they, or the copy of them, cannot be used as they are
)

// A Status is the state of a project.
type Status struct {
	Root    string
	State   State
	Err     error          // why the plugins are refused
	Changes []trust.Change // since the plugins were trusted
	Entry   *trust.Entry   // the record of the trusted plugins; nil: none
	Copy    string         // the directory with the plugins that may be opened; "" unless trusted
	Foreign bool           // the project belongs to another user
}

// Plugins returns the directory of the project's plugins.
func (st Status) Plugins() string { return filepath.Join(st.Root, filepath.FromSlash(PluginsDir)) }

// Look returns the state of a project. It hashes the plugins only if the project has a record.
func (s Store) Look(root string) Status {
	st := Status{Root: root, State: None}
	st.Foreign = anyForeign(root, filepath.Join(root, Dir), st.Plugins())
	there, err := s.pluginsIn(root)
	if err != nil {
		st.State, st.Err = Refused, err
		return st
	}
	lock, err := trust.Load(s.lock)
	if err != nil {
		st.State, st.Err = Refused, err
		return st
	}
	st.Entry = lock.Find(kindTrusted, root)
	if there {
		st.compareWithRecord(s, lock)
	}
	return st
}

// compareWithRecord compares the plugins with the record.
func (st *Status) compareWithRecord(s Store, lock *trust.Lock) {
	declined := lock.Find(kindDeclined, st.Root)
	st.State = Untrusted
	if st.Entry == nil && declined == nil {
		return
	}
	now, err := take(st.Plugins())
	switch {
	case err != nil:
		st.State, st.Err = Refused, err
	case declined != nil && len(trust.Compare(declined.Files, now)) == 0:
		st.State = Declined
	case st.Entry == nil:
	default:
		if st.Changes = trust.Compare(st.Entry.Files, now); len(st.Changes) > 0 {
			st.State = Changed
			return
		}
		st.useCopy(s)
	}
}

// useCopy checks that the copy has not changed. Files that a plugin has added do not matter.
func (st *Status) useCopy(s Store) {
	dir := s.copyOf(st.Root, st.Entry.Files)
	now, err := trust.Take([]trust.Root{{Path: dir}})
	for _, c := range trust.Compare(st.Entry.Files, now) {
		if c.Kind != "added" && err == nil {
			err = fmt.Errorf("%s %s", c.Kind, c.Path)
		}
	}
	if err != nil {
		st.State, st.Err = Refused, fmt.Errorf("the copy of its plugins in %s is damaged: %w", dir, err)
		return
	}
	st.State, st.Copy = Trusted, dir
}

// pluginsIn reports whether a project has plugins. If they could never be used, the error says why.
func (s Store) pluginsIn(root string) (bool, error) {
	there, err := s.ownDir(root, PluginsDir)
	if err != nil || !there {
		return false, err
	}
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(PluginsDir)))
	if err != nil {
		return false, err
	}
	defer f.Close()
	names, _ := f.Readdirnames(1) // no name is read from an empty directory, nor after an error
	if len(names) == 0 {
		return false, nil
	}
	if s.IsHome(root) {
		return false, homeError{}
	}
	return true, nil
}

// IsHome reports whether root is the home directory, whose plugins can never be trusted.
func (s Store) IsHome(root string) bool {
	home, err := filepath.EvalSymlinks(s.dirs.Home)
	return err == nil && s.dirs.Home != "" && home == root
}

// homeError explains why the plugins of the home directory are refused.
type homeError struct{}

func (homeError) Error() string {
	return "the home directory is not a project, because its plugins would run everywhere"
}

// Fix says what to do instead.
func (homeError) Fix() string { return "install them instead: patchbay plugin install SOURCE" }

// ownDir reports whether a project has a directory for Patchbay, such as [PluginsDir]. It returns
// false if Patchbay stores its own data in the project's .patchbay, or if the project is the root
// of the file system.
func (s Store) ownDir(root, name string) (bool, error) {
	if filepath.Dir(root) == root {
		return false, nil
	}
	for _, own := range []string{s.dirs.Config, s.dirs.Data, s.dirs.State} {
		if rel, err := filepath.Rel(filepath.Join(root, Dir), own); err == nil && filepath.IsLocal(rel) {
			return false, nil
		}
	}
	return realDir(root, name)
}

// reading opens a project, so that its text files can be read. Files of another user are read only
// if the project is trusted.
func (s Store) reading(root string) (*reading, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	r := &reading{root: dir, path: root}
	if lock, err := trust.Load(s.lock); err == nil {
		r.trusted = lock.Find(kindTrusted, root) != nil
	}
	if anyForeign(root) && !r.trusted {
		return nil, errors.Join(fmt.Errorf("the project %w", errForeign), dir.Close())
	}
	return r, nil
}

// ReadsConfig reports whether the project's config.toml is used. In a project of another user it is
// used only if the project is trusted.
func (s Store) ReadsConfig(root string) bool {
	if !anyForeign(root, filepath.Join(root, Dir), filepath.Join(root, Dir, "config.toml")) {
		return true
	}
	lock, err := trust.Load(s.lock)
	return err == nil && lock.Find(kindTrusted, root) != nil
}

// A Record is a project that was trusted or declined.
type Record struct {
	Root     string    `json:"root"`
	State    State     `json:"state"` // trusted | declined
	Recorded time.Time `json:"recorded"`
}

// List returns the recorded projects.
func (s Store) List() ([]Record, error) {
	lock, err := trust.Load(s.lock)
	if err != nil {
		return nil, err
	}
	records := []Record{}
	for _, e := range lock.Entries {
		state := Trusted
		if e.Dialect == kindDeclined {
			state = Declined
		}
		records = append(records, Record{e.Name, state, e.Recorded})
	}
	return records, nil
}

// Forget removes a project from the record, and reports whether it was there. [Store.Sweep] removes
// the copies.
func (s Store) Forget(root string) (found bool, err error) {
	err = s.book().Update(func(l *trust.Lock) (bool, error) {
		found = l.Find(kindTrusted, root) != nil || l.Find(kindDeclined, root) != nil
		l.Remove(kindTrusted, root)
		l.Remove(kindDeclined, root)
		return found, nil
	})
	return found, err
}

// ID returns a short unique name for a project.
func ID(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// copyOf returns the directory for a copy of these files. Changed files get another directory, so
// that a process that uses the old copy is not disturbed.
func (s Store) copyOf(root string, files []trust.File) string {
	return filepath.Join(s.dir, ID(root), trust.Digest(files)[:32])
}
