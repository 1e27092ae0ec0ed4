package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/patchbay-dev/patchbay/internal/filestate"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// The limits of one plugin. A plugin with its packages has some thousand files.
const (
	MostFiles = 20_000
	MostBytes = 1 << 30
)

// A Root is a file or directory that belongs to a plugin.
type Root struct {
	Label string // before the names of its files; "": none
	Path  string // absolute; a link is followed, because the user who installed the plugin made it
}

// A File is one file of a plugin.
type File struct {
	Path string // below its root, with slashes
	Mode Mode
	Sum  string // SHA-256 in hex: of the content, or of the target of a link
}

// A Mode is the kind of a file.
type Mode string

// The modes.
const (
	Plain      Mode = "-"
	Executable Mode = "x"
	Link       Mode = "l"
)

// Ignored reports whether a file is not part of a plugin, whatever its content: .git, and Python's
// directories of compiled files. Compiled files elsewhere count if Python would run
// them: see [runnable].
func Ignored(name string, dir bool) bool {
	return name == ".git" || name == "__pycache__" && dir
}

// Take reads the files of a plugin. Anything but a file, directory or link cannot be hashed, and is
// an error.
func Take(roots []Root) ([]File, error) {
	var files []File
	var size int64
	err := walk(roots, func(v visited) error {
		f := File{Path: v.name, Mode: modeOf(v.info)}
		if f.Mode == Link {
			f.Sum = sum([]byte(v.target))
		} else {
			n, digest, err := hash(v, MostBytes-size)
			if err != nil {
				return err
			}
			size, f.Sum = size+n, digest
		}
		files = append(files, f)
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, err
}

// stampOf returns a stamp that distinguishes states of a plugin's files without reading them.
// newest is when the last of them was changed.
func stampOf(roots []Root) (stamp string, newest time.Time, err error) {
	h := sha256.New()
	err = walk(roots, func(v visited) error {
		state := filestate.Of(v.info)
		if at := state.Last(); at.After(newest) {
			newest = at
		}
		fmt.Fprintf(h, "%q %q %v %v\n", v.name, v.target, v.info.Mode(), state)
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), newest, err
}

// visited is one file on a walk.
type visited struct {
	name   string // as it is recorded
	path   string // on disk
	info   fs.FileInfo
	target string // of a link
}

// walk visits the files of roots, in no order. It follows no links except the roots themselves.
func walk(roots []Root, visit func(visited) error) error {
	count := 0
	counted := func(v visited) error {
		if count++; count > MostFiles {
			return fmt.Errorf("more than %d files", MostFiles)
		}
		return v.check(visit)
	}
	for _, r := range roots {
		if err := walkRoot(r, counted); err != nil {
			return err
		}
	}
	return nil
}

// walkRoot visits one root. A root that is a link is also recorded as a link, because its target
// may change.
func walkRoot(r Root, visit func(visited) error) error {
	real := r.Path
	info, err := os.Lstat(real)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if err := visit(visited{name: r.Label + ".", path: r.Path, info: info}); err != nil {
			return err
		}
		if real, err = filepath.EvalSymlinks(r.Path); err == nil {
			info, err = os.Lstat(real)
		}
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return visit(visited{name: r.Label + filepath.Base(r.Path), path: real, info: info})
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(real, path)
		if err != nil || rel == "." {
			return err
		}
		if Ignored(d.Name(), d.IsDir()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if strings.HasSuffix(d.Name(), ".pyc") && info.Mode().IsRegular() && !runnable(path) {
			return nil
		}
		return visit(visited{name: r.Label + filepath.ToSlash(rel), path: path, info: info})
	})
}

// runnable reports whether Python would run a compiled file. Such a file begins with a magic number
// of four bytes, which always ends with CR and LF. Python imports the file if its source is
// missing, so it must not change unnoticed. A file that cannot be read counts too: hashing it then
// says why.
func runnable(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && head[2] == '\r' && head[3] == '\n'
}

// check refuses files that cannot be recorded, and reads a link.
func (v visited) check(visit func(visited) error) (err error) {
	switch mode := v.info.Mode(); {
	case !utf8.ValidString(v.name):
		return fmt.Errorf("%q: its name is not UTF-8", v.name)
	case mode&fs.ModeSymlink != 0:
		if v.target, err = os.Readlink(v.path); err != nil {
			return err
		}
	case !mode.IsRegular():
		return &fs.PathError{Op: "hash", Path: v.path, Err: plainfile.ErrKind}
	}
	return visit(v)
}

func modeOf(info fs.FileInfo) Mode {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return Link
	case info.Mode()&0o111 != 0:
		return Executable
	}
	return Plain
}

// hash hashes the visited file. It returns an error if another file has taken its place. It reads
// nothing of a file that is too large: reading a gigabyte takes seconds.
func hash(v visited, most int64) (n int64, digest string, err error) {
	f, err := plainfile.Open(v.path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, v.info) {
		return 0, "", errors.Join(err, fmt.Errorf("%s was replaced while it was read", v.path))
	}
	h := sha256.New()
	if info.Size() <= most {
		n, err = io.Copy(h, io.LimitReader(f, most+1)) // it may have grown
	}
	if err == nil && max(n, info.Size()) > most {
		err = fmt.Errorf("its files have more than %d MiB", MostBytes>>20)
	}
	return n, hex.EncodeToString(h.Sum(nil)), err
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// Sum returns one sum for a plugin's file, or for all files of its directory.
func Sum(path string) (string, error) {
	files, err := Take([]Root{{Path: path}})
	return Digest(files), err
}

// Digest returns one sum for all files.
func Digest(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %s %q\n", f.Sum, f.Mode, f.Path)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A Change is a changed file.
type Change struct {
	Path string `json:"path" doc:"The file." example:"words.py"`
	Kind string `json:"kind" enum:"added,removed,changed" doc:"What has changed." example:"changed"`
}

// Compare lists what has changed, in the order of the paths.
func Compare(before, now []File) []Change {
	changes := []Change{}
	old := make(map[string]File, len(before))
	for _, f := range before {
		old[f.Path] = f
	}
	for _, f := range now {
		was, there := old[f.Path]
		delete(old, f.Path)
		switch {
		case !there:
			changes = append(changes, Change{f.Path, "added"})
		case was != f:
			changes = append(changes, Change{f.Path, "changed"})
		}
	}
	for path := range old {
		changes = append(changes, Change{path, "removed"})
	}
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}
