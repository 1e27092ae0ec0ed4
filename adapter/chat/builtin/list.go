package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/chat"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
)

const listDescription = `List a directory: the working directory, or one below it. Directories have a slash at the end, ` +
	`files their size; hidden ones are included. With pattern, search for names in it and below it. ` +
	`The contents of .git and node_modules are left out unless path names them. At most 1000 entries.`

const listParameters = `{
	"type": "object",
	"properties": {
		"path": {"type": "string",
			"description": "The directory, relative to the working directory (or absolute, inside it). Default: the working directory."},
		"depth": {"type": "integer", "minimum": 1,
			"description": "How many levels to go down. Default: 1, the directory alone; with pattern, all."},
		"pattern": {"type": "string",
			"description": "Only names like this, e.g. *.go; with a slash, paths below path like this, e.g. src/**/*.ts."}
	},
	"additionalProperties": false
}`

type listArgs struct {
	Path    string `json:"path"`
	Depth   number `json:"depth"`
	Pattern string `json:"pattern"`
}

const (
	listMax  = 1000    // entries shown
	walkMax  = 100_000 // entries read in total
	depthMax = 64      // levels; sources are not deeper
)

func (f *files) list(ctx context.Context, call chat.Call, args listArgs) (string, error) {
	p, name, err := openPlace(call, args.Path)
	if err != nil {
		return "", err
	}
	defer p.Close()
	info, err := p.Stat(name)
	if err != nil {
		return "", p.refusal(args.Path, err)
	}
	if !info.IsDir() {
		return entryLine(p, name, info.Mode()) + "\n", nil
	}
	w, err := newWalk(p, args)
	if err != nil {
		return "", err
	}
	if err := w.run(ctx, name); err != nil {
		return "", p.refusal(args.Path, err)
	}
	return w.show(name), nil
}

// A walk visits directories level by level, so that near entries are listed even if there are too
// many in all.
type walk struct {
	p     *place
	glob  *glob // nil: everything
	depth int

	found   []found
	looked  int      // entries seen
	full    bool     // there are more entries than can be shown or read
	skipped []string // directories that were not entered
	broken  []string // directories that could not be read
}

// found is an entry to show.
type found struct {
	name string // relative to the working directory
	mode fs.FileMode
}

// level is a directory to read.
type level struct {
	name  string // relative to the working directory
	below string // the same, relative to the start of the walk, with slashes
	depth int
}

func newWalk(p *place, args listArgs) (*walk, error) {
	w := &walk{p: p, depth: min(args.Depth.whole(depthMax), depthMax)}
	if args.Pattern != "" {
		g, err := newGlob(args.Pattern)
		if err != nil {
			return nil, err
		}
		w.glob = g
	}
	switch {
	case w.depth == 0 && w.glob != nil:
		w.depth = depthMax
	case w.depth == 0:
		w.depth = 1
	}
	return w, nil
}

// run walks from a directory. It returns an error only if that directory cannot be read or ctx has
// ended.
func (w *walk) run(ctx context.Context, name string) error {
	queue := []level{{name: name, depth: 1}}
	for len(queue) > 0 && !w.full {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l := queue[0]
		queue = queue[1:]
		entries, err := w.entries(l.name)
		if err != nil {
			if l.depth == 1 {
				return err
			}
			w.broken = append(w.broken, l.name)
			continue
		}
		queue = append(queue, w.visit(l, entries)...)
	}
	return nil
}

// entries reads a directory, up to the limit of entries.
func (w *walk) entries(name string) ([]fs.DirEntry, error) {
	dir, err := w.p.OpenFile(name, openNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(walkMax - w.looked + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if w.looked += len(entries); w.looked > walkMax {
		w.full = true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// visit adds a directory's entries to the list and returns the directories to enter. Links are not
// followed.
func (w *walk) visit(l level, entries []fs.DirEntry) []level {
	var next []level
	for _, entry := range entries {
		name, below := filepath.Join(l.name, entry.Name()), path.Join(l.below, entry.Name())
		if w.glob == nil || w.glob.match(below) {
			if len(w.found) == listMax {
				w.full = true
				return nil
			}
			w.found = append(w.found, found{name, entry.Type()})
		}
		if !entry.IsDir() || l.depth >= w.depth {
			continue
		}
		if skipsDir(entry.Name()) {
			w.skipped = append(w.skipped, name)
			continue
		}
		next = append(next, level{name: name, below: below, depth: l.depth + 1})
	}
	return next
}

// skipsDir reports directories that a recursive list skips. To list them, name them as path.
func skipsDir(name string) bool { return name == ".git" || name == "node_modules" }

// show returns the list as the model reads it.
func (w *walk) show(name string) string {
	slices.SortFunc(w.found, func(a, b found) int { return strings.Compare(a.name, b.name) })
	var b strings.Builder
	for _, e := range w.found {
		b.WriteString(entryLine(w.p, e.name, e.mode) + "\n")
	}
	text := b.String()
	switch {
	case text == "" && w.glob != nil:
		text = note("", "nothing in %s matches", filepath.ToSlash(name))
	case text == "":
		text = note("", "%s is empty", filepath.ToSlash(name))
	}
	if w.full {
		text = note(text, "there is more: %d entries are shown; name a directory below or a pattern", len(w.found))
	}
	if len(w.skipped) > 0 {
		text = note(text, "not entered: %s", fewOf(w.skipped))
	}
	if len(w.broken) > 0 {
		text = note(text, "could not be read: %s", fewOf(w.broken))
	}
	return excerpt.Head(text, shownMax)
}

// fewOf returns the first few of the names.
func fewOf(names []string) string {
	const few = 5
	if len(names) > few {
		return filepath.ToSlash(strings.Join(names[:few], ", ")) + fmt.Sprintf(" and %d more", len(names)-few)
	}
	return filepath.ToSlash(strings.Join(names, ", "))
}

// entryLine returns the line of one entry. It quotes a name that would break the line or be hidden
// in it.
func entryLine(p *place, name string, mode fs.FileMode) string {
	shown := filepath.ToSlash(name)
	if q := fmt.Sprintf("%q", shown); q != `"`+shown+`"` {
		shown = q
	}
	switch {
	case mode.IsDir():
		return shown + "/"
	case mode&fs.ModeSymlink != 0:
		target, err := p.Readlink(name)
		if err != nil {
			return shown + "  (a link)"
		}
		return shown + " -> " + excerpt.Head(target, quotedMax)
	case !mode.IsRegular():
		return shown + "  (" + kind(mode) + ")"
	}
	info, err := p.Lstat(name) // not DirEntry.Info, which resolves the path again and could follow a link
	if err != nil {
		return shown
	}
	return shown + "  " + size(info.Size())
}
