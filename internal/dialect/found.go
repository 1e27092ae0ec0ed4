package dialect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// What dialects share about finding plugins: files, or folders with a manifest.

// FoldersIn lists the folders in a place, by name. Hidden ones are no plugins; a link to a folder
// is as good as one, and a link to nothing is listed, so that somebody hears of it. A place that
// cannot be read has none: [ExaminePlace] says why.
func FoldersIn(place string) []string {
	if place == "" {
		return nil
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(place, e.Name())
		if info, err := os.Stat(dir); strings.HasPrefix(e.Name(), ".") || err == nil && !info.IsDir() {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// FilesIn lists the regular files in a place, by name; links to one count, hidden ones do not. A
// place that cannot be read has none.
func FilesIn(place string) []string {
	if place == "" {
		return nil
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(place, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, path)
		}
	}
	return files
}

// IsScript tells a file that names its interpreter in a #! line.
func IsScript(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len("#!"))
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == "#!"
}

// ExaminePlace reports what keeps a place of plugins from being read. One that does not exist is no
// problem.
func ExaminePlace(place string) []Problem {
	if place == "" {
		return nil
	}
	if _, err := os.ReadDir(place); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return []Problem{{Path: place, Message: "its plugins cannot be listed: " + Cause(err).Error()}}
	}
	return nil
}

// ReadManifest reads a regular file of at most that many bytes.
func ReadManifest(file string, most int) ([]byte, error) {
	data, err := plainfile.Read(file, most)
	if _, tooLarge := errors.AsType[*plainfile.SizeError](err); tooLarge {
		return nil, fmt.Errorf("%s: over %d KiB: not a manifest", file, most>>10)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, Cause(err))
	}
	return data, nil
}

// MissingManifest is what mends a directory among the plugins in which there is no manifest.
func MissingManifest(name string) (fix string) {
	return "write a " + name + " there, or remove the directory"
}

// Cause is an error of the file system without the path, which its message has in another place
// already.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// FirstProblem is the error of a manifest with problems: the first, and how many more.
func FirstProblem(problems []Problem) error {
	p := problems[0]
	where := p.Path
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.Path, p.Line, p.Column)
	}
	switch more := len(problems) - 1; more {
	case 0:
		return fmt.Errorf("%s: %s", where, p.Message)
	case 1:
		return fmt.Errorf("%s: %s (and 1 more problem)", where, p.Message)
	default:
		return fmt.Errorf("%s: %s (and %d more problems)", where, p.Message, more)
	}
}

// RefuseTwins leaves out the second of two plugins with one name: a user could not tell them apart,
// and their tools go by that name. The name of a directory belongs to the plugin in it, whoever
// else calls itself so.
func RefuseTwins(all []Found) {
	owner, first := make(map[string]string), make(map[string]string)
	for _, f := range all {
		owner[f.Place] = f.Path
	}
	for i := range all {
		f := &all[i]
		if f.State != "" {
			continue
		}
		if path := owner[f.Name]; path != "" && f.Place != f.Name {
			f.State, f.Err = Skipped, twin(f.Name, path)
			continue
		}
		if path, taken := first[f.Name]; taken {
			f.State, f.Err = Skipped, twin(f.Name, path)
			continue
		}
		first[f.Name] = f.Path
	}
}

// twin is the error of a plugin whose name another has.
func twin(name, path string) error {
	return WithFix(fmt.Errorf("another plugin is called %s: %s", name, path), "rename one of them")
}
