package projectfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/scratch"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// A Staged is a private copy of a project's plugins. The user is shown the copy, and trusts the
// copy: changes in the project in the meantime have no effect on it.
type Staged struct {
	Status
	Dir    string // the directory of the copy
	Files  []trust.File
	Digest string

	store Store
	kept  bool // the copy is trusted and in place
}

// A CopyError says that the private copy could not be written. It says nothing about the project.
type CopyError struct{ err error }

func (e *CopyError) Error() string { return "the project's plugins cannot be copied: " + e.err.Error() }
func (e *CopyError) Unwrap() error { return e.err }

// notCopied makes a CopyError of err, unless it is nil.
func notCopied(err error) error {
	if err == nil {
		return nil
	}
	return &CopyError{err}
}

// Stage copies the plugins of a project. The caller closes the result.
func (s Store) Stage(root string) (*Staged, error) {
	st := s.Look(root)
	if st.State == Refused && st.Entry == nil {
		return nil, st.Err
	}
	home := filepath.Join(s.dir, ID(root))
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, notCopied(err)
	}
	dir, err := scratch.MakeIn(home, "stage")
	if err != nil {
		return nil, notCopied(err)
	}
	staged := &Staged{Status: st, Dir: dir, store: s}
	if err := staged.fill(); err != nil {
		return nil, errors.Join(err, staged.Close())
	}
	return staged, nil
}

// fill copies the files, and compares them with the trusted ones.
func (s *Staged) fill() (err error) {
	there, err := s.store.pluginsIn(s.Root)
	if err != nil {
		return err
	}
	if there {
		if err := copyTree(s.Plugins(), s.Dir); err != nil {
			return err
		}
	}
	if s.Files, err = trust.Take([]trust.Root{{Path: s.Dir}}); err != nil {
		return err
	}
	if err := s.dropUnlisted(); err != nil {
		return err
	}
	s.Digest, s.Changes = trust.Digest(s.Files), nil
	if s.Entry != nil {
		s.Changes = trust.Compare(s.Entry.Files, s.Files)
	}
	return nil
}

// dropUnlisted removes files from the copy that are not in the list that the user is shown.
func (s *Staged) dropUnlisted() error {
	listed := map[string]bool{}
	for _, f := range s.Files {
		listed[f.Path] = true
	}
	return filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(s.Dir, path)
		if err != nil || listed[filepath.ToSlash(name)] {
			return err
		}
		return os.Remove(path)
	})
}

// copyTree copies the files of a survey. It keeps the bytes of each file, and whether it is
// executable, and nothing else.
func copyTree(from, to string) error {
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer target.Close()
	all, err := survey(source)
	room := int64(mostBytes)
	for i := 0; i < len(all) && err == nil; i++ {
		err = all[i].copy(source, target, &room)
	}
	return err
}

func (s *surveyed) copy(source, target *os.Root, room *int64) error {
	name := filepath.FromSlash(s.name)
	switch {
	case s.info.IsDir():
		return notCopied(target.Mkdir(name, 0o700))
	case s.target != "":
		return notCopied(target.Symlink(s.target, name))
	}
	in, err := plainfile.OpenIn(source, name)
	if err != nil {
		return err
	}
	defer in.Close()
	mode := os.FileMode(0o400)
	if s.info.Mode()&0o111 != 0 {
		mode = 0o500
	}
	out, err := target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return notCopied(err)
	}
	n, err := io.Copy(copyWriter{out}, io.LimitReader(in, *room+1))
	if *room -= n; *room < 0 && err == nil {
		err = fmt.Errorf("%s has grown while it was copied", s.name)
	}
	return errors.Join(err, notCopied(out.Close()))
}

// copyWriter marks the errors of writing a copy. An unmarked error comes from reading the original.
type copyWriter struct{ w io.Writer }

func (c copyWriter) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	return n, notCopied(err)
}

// Trust puts the copy in place and records it, with the capabilities that its plugins declare.
func (s *Staged) Trust(capabilities []string) error {
	place := s.store.copyOf(s.Root, s.Files)
	return s.store.book().Update(func(l *trust.Lock) (bool, error) {
		if err := scratch.Remove(place); err != nil && !errors.Is(err, fs.ErrNotExist) { // an earlier copy of the same files, perhaps damaged
			return false, err
		}
		if err := os.Rename(s.Dir, place); err != nil {
			return false, err
		}
		s.kept = true
		e := s.entry(kindTrusted)
		e.Capabilities = capabilities
		l.Remove(kindDeclined, s.Root)
		l.Put(e)
		_ = s.store.book().Keep([]trust.Root{{Path: place}}, s.Files) // it stores the texts of the files. If it fails, a later change is listed without its lines
		return true, nil
	})
}

// Decline records that the user declined the plugins with exactly this content. Plugins of the
// project that were trusted before are no longer trusted.
func (s *Staged) Decline() error {
	return s.store.book().Update(func(l *trust.Lock) (bool, error) {
		l.Remove(kindTrusted, s.Root)
		l.Put(s.entry(kindDeclined))
		return true, nil
	})
}

// Explain lists what has changed since the project was trusted, with the changed lines.
func (s *Staged) Explain() ([]trust.FileChange, error) {
	if s.Entry == nil {
		return nil, nil
	}
	return s.store.book().Explain(s.Entry, []trust.Root{{Path: s.Dir}}, s.Files)
}

func (s *Staged) entry(kind string) *trust.Entry {
	return &trust.Entry{Dialect: kind, Name: s.Root, Path: s.Plugins(), Recorded: time.Now().UTC().Truncate(time.Second), Files: s.Files}
}

// Close removes a copy that was not trusted.
func (s *Staged) Close() error {
	if s.kept {
		return nil
	}
	err := scratch.Remove(s.Dir)
	_ = os.Remove(filepath.Dir(s.Dir)) // fails if another copy is there
	return err
}

// Sweep removes all copies of a project except the trusted one. It also removes staged copies that
// processes have left behind.
func (s Store) Sweep(root string) error {
	home := filepath.Join(s.dir, ID(root))
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil // there are no copies
	}
	lock, err := trust.Load(s.lock)
	if err != nil {
		return err
	}
	current := ""
	if e := lock.Find(kindTrusted, root); e != nil {
		current = filepath.Base(s.copyOf(root, e.Files))
	}
	errs := []error{scratch.Sweep(home)}
	for _, e := range entries {
		if e.Name() != current && !strings.Contains(e.Name(), "stage") {
			errs = append(errs, scratch.Remove(filepath.Join(home, e.Name())))
		}
	}
	_ = os.Remove(home) // fails if a copy is still there
	return errors.Join(errs...)
}
