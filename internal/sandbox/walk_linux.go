package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is the number of links that are followed for one path, the same as in the kernel.
const maxLinks = 40

// nowhere is the end of a way with too many links. Nothing can be created there, because its parent
// is a device.
const nowhere = "/dev/null/nowhere"

// A hop is a symbolic link on the way to a file.
type hop struct {
	at     string // its path, which contains no other link
	target string // the text of the link
}

// A way is the path to a file with the links that it passes.
type way struct {
	path  string // as it was given
	links []hop  // in the order in which they are followed
	end   string // the path without any link; nowhere if there are too many
}

// walk follows a path from the root on, as the kernel does. The rest of a path that does not exist
// is taken literally. The end is never a link that was not followed: a caller that used it would
// reach a file that was not checked.
func walk(path string) way {
	w := way{path: path}
	at, rest := "/", path
	for rest != "" {
		name, after, _ := strings.Cut(rest, "/")
		next := filepath.Join(at, name) // also for "", "." and ".."
		target, err := os.Readlink(next)
		if err != nil || name == "" || name == "." || name == ".." {
			at, rest = next, after
			continue
		}
		if len(w.links) == maxLinks {
			w.end = nowhere
			return w
		}
		w.links = append(w.links, hop{next, target})
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = target + "/" + after
	}
	w.end = at
	return w
}

// through returns the first link of the way that lies within one of the directories.
func (w way) through(dirs []string) (hop, bool) {
	i := slices.IndexFunc(w.links, func(l hop) bool { return withinAny(l.at, dirs) })
	if i < 0 {
		return hop{}, false
	}
	return w.links[i], true
}

// realPath returns the path with all its links followed.
func realPath(path string) string { return walk(path).end }

// place returns the path of a file without links in its directory. If the file itself is a link,
// place does not follow it. The path is not cleaned first: where d is a link, "d/.." is not the
// directory that contains d.
func place(path string) string {
	slash := strings.LastIndexByte(path, '/')
	name := path[slash+1:]
	if name == "" || name == "." || name == ".." {
		return realPath(path)
	}
	return filepath.Join(realPath(path[:slash+1]), name)
}

// next returns the target of the link at a path, one step further. ok is false if there is no link.
func next(at string) (to string, ok bool) {
	target, err := os.Readlink(at)
	if err != nil {
		return "", false
	}
	if !filepath.IsAbs(target) {
		target = filepath.Dir(at) + "/" + target
	}
	return place(target), true
}

// within reports whether a path is dir or lies below it.
func within(path, dir string) bool {
	if dir == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(filepath.Clean(path), dir)
	return ok && (rest == "" || rest[0] == '/')
}

// withinAny reports whether a path is one of the directories or lies below one.
func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// below reports whether a path lies below dir. dir itself does not.
func below(path, dir string) bool { return path != dir && within(path, dir) }
