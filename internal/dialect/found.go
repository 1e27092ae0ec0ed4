package dialect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/nearest"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// DirsIn returns the directories in a folder of plugins, sorted by name: directories, links to
// directories, and links to nothing, which the host reports. It leaves hidden ones out. It returns
// nil if the folder cannot be read; [ExamineFolder] reports why.
func DirsIn(folder string) []string {
	if folder == "" {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(folder, e.Name())
		if info, err := os.Stat(dir); strings.HasPrefix(e.Name(), ".") || err == nil && !info.IsDir() {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// FilesIn returns the files in a folder of plugins, sorted by name: regular files, links to regular
// files, and links to nothing. It leaves hidden ones out. It returns nil if the folder cannot be
// read.
func FilesIn(folder string) []string {
	if folder == "" {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var files []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := os.Stat(path)
		regular := err == nil && info.Mode().IsRegular()
		if !strings.HasPrefix(e.Name(), ".") && (regular || LeadsNowhere(path)) {
			files = append(files, path)
		}
	}
	return files
}

// LeadsNowhere reports whether path is a link to a file that does not exist. In a folder of plugins
// such a link is a plugin that was installed and cannot be called.
func LeadsNowhere(path string) bool {
	_, err := os.Readlink(path)
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// DeadLink is the fix for a link in a folder of plugins that leads to nothing.
const DeadLink = "it is a link: remove it, or put the plugin where it leads"

// IsScript reports whether a file names its interpreter in a #! line.
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

// ExamineFolder reports why a folder of plugins cannot be read. A folder that does not exist is not
// a problem.
func ExamineFolder(folder string) []Problem {
	if folder == "" {
		return nil
	}
	_, err := os.ReadDir(folder)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist):
		if link := plainfile.DeadLink(folder); link != "" {
			return []Problem{{Path: folder, Message: unlisted + "the link " + link + " leads to nothing", Fix: "restore what it leads to, or remove the link"}}
		}
	default:
		p := Problem{Path: folder, Message: unlisted + Cause(err).Error()}
		if info, statErr := os.Stat(folder); errors.Is(err, fs.ErrPermission) {
			p.Fix = program.ReadFix(folder)
		} else if statErr == nil && !info.IsDir() {
			p.Fix = "move this file away, and make a directory in its place"
		}
		return []Problem{p}
	}
	return nil
}

// unlisted begins the message of a folder that cannot be read.
const unlisted = "its plugins cannot be listed: "

// Unlisted reports whether p is about a folder that cannot be read. No plugin in such a folder is
// found.
func Unlisted(p Problem) bool { return strings.HasPrefix(p.Message, unlisted) }

// ReadManifest reads a manifest, which must be a regular file, and not larger than the limit in
// bytes.
func ReadManifest(file string, limit int) ([]byte, error) {
	data, err := plainfile.Read(file, limit)
	if _, tooLarge := errors.AsType[*plainfile.SizeError](err); tooLarge {
		return nil, WithFix(fmt.Errorf("%s: over %d KiB: not a manifest", file, limit>>10), "put a manifest there, or reinstall the plugin")
	}
	if err != nil {
		return nil, WithFix(fmt.Errorf("%s: %w", file, Cause(err)), unreadFix(file, err))
	}
	return data, nil
}

// unreadFix returns what to do about a manifest that cannot be read, or "" if that is not known.
func unreadFix(file string, err error) string {
	switch {
	case errors.Is(err, plainfile.ErrKind):
		return "put a file in its place, or reinstall the plugin"
	case errors.Is(err, fs.ErrPermission):
		return program.ReadFix(file)
	}
	return ""
}

// MissingManifest returns the fix for a plugin's directory without a manifest of this name. If a
// file there has almost this name, the fix is to rename it.
func MissingManifest(dir, name string) (fix string) {
	entries, _ := os.ReadDir(dir) // a directory that cannot be read shows no misspelt file
	for _, e := range entries {
		if e.Type().IsRegular() && nearest.Word(e.Name(), []string{name}) != "" {
			return "rename " + strconv.Quote(e.Name()) + " there to " + name
		}
	}
	return "write a " + name + " there, or remove the directory"
}

// Cause returns an error of the file system without its path, for messages that have the path
// already.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}

// FirstProblem returns an error for a manifest with problems: the first one, and how many more
// there are.
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

// RefuseTwins keeps one of the plugins with the same name, and skips the others: users could not
// tell them apart, and tool names contain the plugin's name. It keeps the plugin whose directory
// has the name. If there is none, it keeps the first.
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

// twin returns the error of a plugin whose name is taken by the plugin at path.
func twin(name, path string) error {
	return WithFix(fmt.Errorf("another plugin is called %s: %s", name, path), "change the name in the manifest of one of them")
}
