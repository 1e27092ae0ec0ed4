package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/proc"
)

// An origin is why a program may be mounted.
//
// A plugin's own files say which interpreter, loader or program they want: in a #! line, in an ELF header, by a link, as an argument of env.
// None of that may widen what the plugin sees. A program from outside of the plugin's files is mounted for what the operator did, never for what
// the plugin says. Everything else is refused, with the capability that would allow it (docs/security.md, "What a plugin ships widens nothing").
type origin string

const (
	fromOwn      origin = "the plugin's own files"
	fromSystem   origin = "a program of the system"
	fromOperator origin = "a program in your PATH"
	fromGrant    origin = "a program that exec: names"
	unknown      origin = ""
)

// origins are the places that decide where a program comes from. All paths are without links.
type origins struct {
	own      []string // the plugin's files
	writable []string // what the plugin may change
	path     []string // the directories of the operator's PATH, without those that the plugin ships or may change
	named    []string // the programs outside of the plugin's files that exec: capabilities name
}

func newOrigins(o *Options) origins {
	var places origins
	for _, path := range o.Own {
		places.own = append(places.own, realPath(path))
	}
	for _, g := range o.Grants {
		if g.Kind == capability.WriteFS {
			places.writable = append(places.writable, realPath(g.Path))
		}
	}
	for _, dir := range proc.SearchPath(o.Environ) {
		if real := realPath(dir); filepath.IsAbs(dir) && !withinAny(real, places.own) && !withinAny(real, places.writable) {
			places.path = append(places.path, real)
		}
	}
	return places
}

// systemDirs are where systems keep what can be executed.
var systemDirs = slices.Concat(programDirs, libraryDirs)

// of says where a program comes from. first is the first place on the way to it that is not among the plugin's own files: the links before it
// were shipped by the plugin, and count for nothing.
func (o *origins) of(w way) (from origin, first string) {
	first = place(w.path)
	for range maxLinks {
		to, isLink := next(first)
		if !isLink || !withinAny(first, o.own) {
			break
		}
		first = to
	}
	switch {
	case withinAny(first, o.own):
		return fromOwn, first
	case withinAny(filepath.Dir(first), systemDirs):
		return fromSystem, first
	case slices.Contains(o.path, filepath.Dir(first)):
		return fromOperator, first
	case slices.Contains(o.named, w.end):
		return fromGrant, first
	}
	return unknown, first
}

// ships reports whether the way to a program begins in the plugin's own files and leaves them.
func (o *origins) ships(w way) bool {
	return withinAny(place(w.path), o.own) && !withinAny(w.end, o.own)
}

// check refuses a way to a program that the plugin itself can change, and a file that is no program.
func (o *origins) check(w way) error {
	if l, loose := w.through(o.writable); loose {
		return &Refusal{Why: fmt.Sprintf("%s is found by the link %s, which the plugin may change: grant less for writing", w.path, l.at)}
	}
	if withinAny(w.end, o.writable) {
		return &Refusal{Why: fmt.Sprintf("it may change %s, which it is to run: move that, or grant less for writing", w.end)}
	}
	info, err := os.Lstat(w.end)
	switch {
	case err != nil, withinAny(w.end, o.own): // where there is nothing, the start will say so
		return nil
	case info.IsDir():
		return &Refusal{Why: w.named() + " is a directory, not a program"}
	case !isProgram(info):
		return &Refusal{Why: w.named() + " is not an executable file"}
	}
	return nil
}

// named is a path as it was named, with where it leads if that is elsewhere.
func (w way) named() string {
	if w.end == filepath.Clean(w.path) {
		return w.path
	}
	return w.path + " (which is " + w.end + ")"
}

func isProgram(info os.FileInfo) bool {
	return info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// exists reports whether there is anything at the end of a way.
func (w way) exists() bool {
	_, err := os.Lstat(w.end)
	return err == nil
}

// A Refusal is something that a plugin asks for and its sandbox does not give it.
type Refusal struct {
	Why   string // what was asked for, and why it is refused
	Grant string // the capability that would allow it; empty: none would
}

func (r *Refusal) Error() string {
	if r.Grant == "" {
		return r.Why
	}
	return fmt.Sprintf("%s. To allow it, add %q to its capabilities", r.Why, r.Grant)
}

// Fix is what to write into the configuration.
func (r *Refusal) Fix() string {
	if r.Grant == "" {
		return ""
	}
	return fmt.Sprintf("if the plugin may have it, add %q to its capabilities", r.Grant)
}

// execGrant is the capability that names a program.
func execGrant(path string) string {
	name := strings.ReplaceAll(filepath.Base(path), ":", "-")
	return capability.Capability{Kind: capability.Exec, Binary: name, Path: path}.String()
}
