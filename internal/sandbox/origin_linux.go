package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// An origin is the reason why a program may be mounted.
//
// A plugin's own files name the interpreter, loader or program that they want: in a #! line, in an
// ELF header, by a link, as an argument of env. None of that may widen what the plugin sees. A
// program outside the plugin's files is mounted only because of a choice of the operator, never
// because the plugin names it. Any other program is refused, and the refusal names the capability
// that would allow it (docs/security.md, "What a plugin ships widens nothing").
type origin string

const (
	fromOwn      origin = "the plugin's own files"
	fromSystem   origin = "a program of the system"
	fromOperator origin = "a program in your PATH"
	fromGrant    origin = "a program that exec: names"
	unknown      origin = ""
)

// origins holds the places that decide where a program comes from. No path in it contains a link.
type origins struct {
	own      []string // the plugin's own files
	writable []string // the paths that the plugin may change
	path     []string // the directories of the operator's PATH, except those that the plugin ships, may change, or could redirect by a link
	named    []way    // the programs outside the plugin's files that exec: capabilities name
	links    []string // the links that the operator chose: on the way to the plugin, to path and to named
}

func newOrigins(o *Options) origins {
	var places origins
	for _, path := range o.Own {
		w := walk(path)
		places.own = append(places.own, w.end)
		places.addChosenLinks(w)
	}
	for _, g := range o.Grants {
		if g.Kind == capability.WriteFS {
			places.writable = append(places.writable, realPath(g.Path))
		}
	}
	for _, dir := range program.SearchPath(o.Environ) {
		if w := walk(dir); filepath.IsAbs(dir) && !places.controlledByPlugin(w) {
			places.path = append(places.path, w.end)
			places.addChosenLinks(w)
		}
	}
	return places
}

// addChosenLinks records the links on a way that the operator named.
func (o *origins) addChosenLinks(w way) {
	for _, l := range w.links {
		o.links = append(o.links, l.at)
	}
}

// passesUnchosenLink reports whether the way to a program passes a link that only the plugin named.
// The plugin would learn the target of that link. Only the links before first are checked: see
// originOf.
func (o *origins) passesUnchosenLink(w way, first string) bool {
	for _, l := range w.links {
		if l.at == first {
			return false
		}
		if !withinAny(l.at, o.own) && !slices.Contains(o.links, l.at) && !isSystemLink(l.at) {
			return true
		}
	}
	return false
}

// isSystemLink reports whether a link belongs to the system's directories, as /bin often does.
func isSystemLink(at string) bool {
	around := func(dir string) bool { return within(dir, at) }
	return withinAny(at, systemDirs) || slices.ContainsFunc(systemDirs, around) || within(at, "/etc/alternatives")
}

// controlledByPlugin reports whether the plugin decides where a way ends: by a link that it ships
// or may change, or because the end is one of its own files or a path that it may change.
func (o *origins) controlledByPlugin(w way) bool {
	theirs := slices.Concat(o.own, o.writable)
	return withinAny(w.end, theirs) || w.passes(theirs...)
}

// systemDirs are the system's directories of programs and libraries.
var systemDirs = slices.Concat(programDirs, libraryDirs)

// originOf returns where a program comes from. Links that the plugin ships do not count: first is
// the place to which they lead.
func (o *origins) originOf(w way) (from origin, first string) {
	first = place(w.path)
	for range maxLinks {
		to, isLink := next(first)
		if !isLink || !withinAny(first, o.own) {
			break
		}
		first = to
	}
	switch {
	case realPath(first) != w.end: // the two ways lead to different files, and only one was checked
		return unknown, first
	case withinAny(first, o.own):
		return fromOwn, first
	case o.passesUnchosenLink(w, first):
		return unknown, first
	case withinAny(filepath.Dir(first), systemDirs):
		return fromSystem, first
	case slices.Contains(o.path, filepath.Dir(first)):
		return fromOperator, first
	case o.isNamed(w.end, first):
		return fromGrant, first
	}
	return unknown, first
}

// isNamed reports whether an exec: capability names the program at end, and also the place by which
// it is found. Another link to the same program may belong to another installation, whose libraries
// were not granted.
func (o *origins) isNamed(end, first string) bool {
	return slices.ContainsFunc(o.named, func(n way) bool {
		at := func(l hop) bool { return l.at == first }
		return n.end == end && (first == end || slices.ContainsFunc(n.links, at))
	})
}

// isOwnFile reports whether a path below the plugin's own directory is a file, or would be created
// as one.
func (o *origins) isOwnFile(path string) bool {
	if !slices.ContainsFunc(o.own, func(own string) bool { return below(path, own) }) {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && !info.IsDir() || err != nil && hasExtension(filepath.Base(path))
}

// refuseWritableLinks refuses links directly in the plugin's own directory that lead to a file
// which the plugin may change. The manifest lies in that directory and says what the plugin may do
// at its next start.
func (o *origins) refuseWritableLinks() error {
	if len(o.writable) == 0 {
		return nil
	}
	for _, dir := range o.own {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it is a file, or the start reports the error
		}
		for _, e := range entries {
			w := walk(filepath.Join(dir, e.Name()))
			if e.Type() == os.ModeSymlink && o.mayChangeTarget(w) {
				return &Refusal{Why: fmt.Sprintf("it may change %s, to which %s leads: grant less for writing, or remove that link", w.end, w.path)}
			}
		}
	}
	return nil
}

// mayChangeTarget reports whether the plugin may change the file at the end of a way, or the way
// itself.
func (o *origins) mayChangeTarget(w way) bool {
	info, err := os.Lstat(w.end)
	return w.passes(o.writable...) || withinAny(w.end, o.writable) && (err != nil || !info.IsDir())
}

// checkGrant refuses a grant of files that leaves the plugin's own files by a link among them,
// because the text of the grant would not show what it grants. It also refuses a grant with too
// many links on its way, and a grant to write a single file among the plugin's own.
func (o *origins) checkGrant(g capability.Capability, w way) error {
	if w.end == nowhere {
		return &Refusal{Why: fmt.Sprintf("%s has more than %d links on its way: name what it leads to", g, maxLinks)}
	}
	if g.Kind == capability.WriteFS && o.isOwnFile(w.end) {
		return &Refusal{Why: fmt.Sprintf("%s is a single file among the plugin's own files; its manifest is one too, so a plugin may write only directories there", g)}
	}
	l, shipped := w.through(o.own)
	if !shipped || withinAny(w.end, o.own) {
		return nil
	}
	real := g
	real.Path = w.end
	return &Refusal{Why: fmt.Sprintf("%s leads to %s by the link %s among the plugin's own files", g, w.end, l.at), Grant: real.String()}
}

// leavesOwnFiles reports whether the way to a program leaves the plugin's own files by a link among
// them.
func (o *origins) leavesOwnFiles(w way) bool { return w.passes(o.own...) && !withinAny(w.end, o.own) }

// check refuses a program that the plugin can change, or whose path it can change, and a file that
// is not a program.
func (o *origins) check(w way) error {
	if w.end == nowhere {
		return &Refusal{Why: fmt.Sprintf("%s has more than %d links on its way", w.path, maxLinks)}
	}
	if l, loose := w.through(o.writable); loose {
		return &Refusal{Why: fmt.Sprintf("%s is found by the link %s, which the plugin may change: grant less for writing", w.path, l.at)}
	}
	if withinAny(w.end, o.writable) {
		return &Refusal{Why: fmt.Sprintf("it may change %s, which it runs: move that file, or grant less for writing", w.end)}
	}
	info, err := os.Lstat(w.end)
	switch {
	case err != nil, withinAny(w.end, o.own): // if nothing is there, the start reports it
		return nil
	case info.IsDir():
		return &Refusal{Why: w.describe() + " is a directory, not a program"}
	case !isProgram(info):
		return &Refusal{Why: w.describe() + " is not an executable file"}
	}
	return nil
}

// describe returns the path as it was given, followed by the file it leads to if that is another.
func (w way) describe() string {
	if w.end == filepath.Clean(w.path) {
		return w.path
	}
	return w.path + " (which is " + w.end + ")"
}

func isProgram(info os.FileInfo) bool {
	return info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// exists reports whether there is a file at the end of the way.
func (w way) exists() bool { return exists(w.end) }

// execGrant returns the capability that grants a program.
func execGrant(path string) string {
	name := strings.ReplaceAll(filepath.Base(path), ":", "-")
	return capability.Capability{Kind: capability.Exec, Binary: name, Path: path}.String()
}
