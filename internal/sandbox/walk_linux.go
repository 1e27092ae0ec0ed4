package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many links in a row are followed, as by the kernel.
const maxLinks = 40

// nowhere is the end of a way with more links than that. Nothing can be made there, since what is
// above it is a file.
const nowhere = "/dev/null/nowhere"

// A hop is a symbolic link on the way to a file.
type hop struct {
	at     string // where it lies; no other link is part of this path
	target string // what it says
}

// A way is how a path leads to a file.
type way struct {
	path  string // as it was named
	links []hop  // in the order in which they are followed
	end   string // where it ends, without any link; nowhere: it has too many
}

// walk follows a path from the root on, as the kernel would. What does not exist is taken as it is
// written. A way must not end at a link that was not followed: whoever walks on from there would
// come to a place that nobody has judged.
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

// through reports the first link of the way that lies within one of some directories.
func (w way) through(dirs []string) (hop, bool) {
	i := slices.IndexFunc(w.links, func(l hop) bool { return withinAny(l.at, dirs) })
	if i < 0 {
		return hop{}, false
	}
	return w.links[i], true
}

// realPath is where a path ends when all its links are followed.
func realPath(path string) string { return walk(path).end }

// place is where a file itself lies: the links in its directory are followed, the file is not.
// Nothing is taken out of the path as it is written: "d/.." is another directory than the one in
// which d lies, where d is a link.
func place(path string) string {
	slash := strings.LastIndexByte(path, '/')
	name := path[slash+1:]
	if name == "" || name == "." || name == ".." {
		return realPath(path)
	}
	return filepath.Join(realPath(path[:slash+1]), name)
}

// next is where a link leads, one step further; ok is false where there is no link at a place.
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

// within reports whether a path is a directory or lies below it.
func within(path, dir string) bool {
	if dir == "/" {
		return true
	}
	rest, ok := strings.CutPrefix(filepath.Clean(path), dir)
	return ok && (rest == "" || rest[0] == '/')
}

// withinAny reports whether a path is, or lies in, one of some directories.
func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// below reports whether a path lies in a directory, and is not itself that.
func below(path, dir string) bool { return path != dir && within(path, dir) }
