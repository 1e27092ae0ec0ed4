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

// A Store keeps which projects a person has trusted, and copies of their plugins, among the user's
// own data. Nothing of that is kept in a project.
type Store struct {
	dirs config.Dirs
	dir  string // of the copies
	lock string // what was trusted
}

// In is the store of a user. Nothing is made before something is trusted.
func In(d config.Dirs) Store {
	dir := filepath.Join(d.Data, "projects")
	return Store{dirs: d, dir: dir, lock: filepath.Join(dir, "projects.lock")}
}

// book is the lock, with the texts of the files, so that a change can be shown.
func (s Store) book() trust.Book {
	return trust.Book{Lock: s.lock, Texts: filepath.Join(s.dir, "texts")}
}

// File is where it is recorded what was trusted.
func (s Store) File() string { return s.lock }

// The kinds of entries in the lock. The name of an entry is the root of its project.
const (
	kindTrusted  = "project"
	kindDeclined = "declined project"
)

// A State is how a project's plugins stand.
type State string

// The states.
const (
	None      State = "none"      // it has no plugins
	Untrusted State = "untrusted" // nobody was asked yet
	Changed   State = "changed"   // they are not those that were trusted
	Trusted   State = "trusted"
	Declined  State = "declined" // a person has said no to exactly these
	Refused   State = "refused"  // they cannot be trusted as they are
)

// A Status says how a project stands.
type Status struct {
	Root    string
	State   State
	Err     error          // why it is refused
	Changes []trust.Change // since it was trusted
	Entry   *trust.Entry   // what was trusted; nil: nothing
	Copy    string         // the directory with the plugins that may be opened; "" unless trusted
	Foreign bool           // it belongs to another user
}

// Plugins is where the project has its plugins.
func (s Status) Plugins() string { return filepath.Join(s.Root, filepath.FromSlash(PluginsDir)) }

// Look says how a project stands. What is not recorded is not hashed.
func (s Store) Look(root string) Status {
	st := Status{Root: root, State: None}
	st.Foreign = foreignDirs(root, filepath.Join(root, Dir), st.Plugins())
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
		st.judge(s, lock)
	}
	return st
}

// judge compares the plugins with what is recorded.
func (st *Status) judge(s Store, lock *trust.Lock) {
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

// useCopy makes sure that the copy is as it was made. Files that a plugin has written beside its
// own do not matter.
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

// pluginsIn tells whether a project has plugins. Where they could never be used, the error says
// why.
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
	names, _ := f.Readdirnames(1) // an empty directory is an error, too
	if len(names) == 0 {
		return false, nil
	}
	if home, err := filepath.EvalSymlinks(s.dirs.Home); err == nil && s.dirs.Home != "" && home == root {
		return false, errors.New("the home directory is no project: its plugins would be everywhere. Install them instead: patchbay plugin install")
	}
	return true, nil
}

// ownDir tells whether a project has a directory of ours. Where Patchbay keeps its own things in
// the project's .patchbay, or the project is the root of the file system, it has none.
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

// reading opens a project's text files. Those of another user are read only where the project is
// trusted.
func (s Store) reading(root string) (*reading, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	r := &reading{root: dir, path: root}
	if lock, err := trust.Load(s.lock); err == nil {
		r.trusted = lock.Find(kindTrusted, root) != nil
	}
	if foreignDirs(root) && !r.trusted {
		return nil, errors.Join(fmt.Errorf("the project %w", errForeign), dir.Close())
	}
	return r, nil
}

// ReadsConfig tells whether the project's config.toml is used: of another user's project only when
// it is trusted.
func (s Store) ReadsConfig(root string) bool {
	if !foreignDirs(root, filepath.Join(root, Dir), filepath.Join(root, Dir, "config.toml")) {
		return true
	}
	lock, err := trust.Load(s.lock)
	return err == nil && lock.Find(kindTrusted, root) != nil
}

// A Record is a project that was trusted, or declined.
type Record struct {
	Root     string    `json:"root"`
	State    State     `json:"state"` // trusted | declined
	Recorded time.Time `json:"recorded"`
}

// List is what is recorded.
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

// Forget takes a project out of the record, and says whether it was in it. [Store.Sweep] removes
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

// digest is one sum for all files.
func digest(files []trust.File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %s %q\n", f.Sum, f.Mode, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ID is a short name for a project, which no other has.
func ID(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// copyOf is where the copy of these files is. Other files are in another place, so that a process
// which uses the old ones is not disturbed.
func (s Store) copyOf(root string, files []trust.File) string {
	return filepath.Join(s.dir, ID(root), digest(files)[:32])
}
