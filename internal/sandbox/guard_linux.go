package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

// coverSize bounds the empty directory that lies over a place that is not to be seen.
const coverSize = 64 << 10

// guard keeps the plugin from Patchbay's own places (docs/security.md, "Patchbay's own places"). A grant that is or lies in one of them is refused. Where
// a grant contains them, something lies over them.
func (p *planner) guard() error {
	if !p.opts.ReadAll && !slices.ContainsFunc(p.opts.Grants, isFile) {
		return nil
	}
	for _, g := range p.opts.Grants {
		if !isFile(g) {
			continue
		}
		if err := p.guardGrant(g); err != nil {
			return err
		}
	}
	for _, place := range p.opts.Guarded {
		if err := p.cover(place); err != nil {
			return err
		}
	}
	return nil
}

// guardGrant refuses a grant within one of the places, unless the host itself lends it.
func (p *planner) guardGrant(g capability.Capability) error {
	end := realPath(g.Path)
	lent := func(path string) bool { return within(end, realPath(path)) }
	own := func(path string) bool { return below(end, path) }
	if slices.ContainsFunc(p.opts.Lent, lent) || slices.ContainsFunc(p.origins.own, own) {
		return nil
	}
	for _, place := range p.opts.Guarded {
		if within(end, realPath(place.Path)) && (place.Hidden || g.Kind == capability.WriteFS) {
			return &Refusal{Why: fmt.Sprintf("%s is part of %s, which is Patchbay's own: no plugin may have it; grant another directory", g, place.Path)}
		}
	}
	return nil
}

// cover puts something over a place that would be in sight: the place itself, to be read only, or nothing at all.
func (p *planner) cover(place Place) error {
	w := walk(place.Path)
	root, write := p.containing(w)
	switch {
	case root == "", !write && !place.Hidden:
		return nil
	case p.plan.Simple && (write || !p.opts.ReadAll):
		return &Refusal{Why: fmt.Sprintf("%s contains %s, which is Patchbay's own, and Landlock alone cannot keep a part of a directory back: grant less", root, place.Path)}
	case p.plan.Simple:
		return nil // an agent may read everything
	}
	if write {
		if err := p.pin(w, root, place); err != nil {
			return err
		}
	}
	info, err := os.Lstat(w.end)
	switch {
	case err != nil:
		return nil // it is not there, and what is above it cannot be changed
	case !place.Hidden:
		p.add("Patchbay's own, to be read only", jail.Mount{Kind: jail.Bind, Source: w.end, Target: w.end, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	case info.IsDir():
		p.add("Patchbay's own, hidden", jail.Mount{Kind: jail.Temp, Target: w.end, Size: coverSize})
	default:
		p.add("", jail.Mount{Kind: jail.Bind, Source: hidden, Target: w.end, Missing: true})
	}
	return nil
}

// containing is the largest tree of the outside that contains a place and is in sight, and whether it may be changed.
func (p *planner) containing(w way) (root string, write bool) {
	if p.opts.ReadAll {
		root = "/"
	}
	for _, g := range p.opts.Grants {
		path := realPath(g.Path)
		if !isFile(g) || !below(w.end, path) && !w.passes(path) {
			continue
		}
		if root == "" || g.Kind == capability.WriteFS && !write {
			root, write = path, g.Kind == capability.WriteFS
		}
	}
	return root, write
}

// passes reports whether a way has a link in one of some directories.
func (w way) passes(dirs ...string) bool {
	_, ok := w.through(dirs)
	return ok
}

// pin keeps the directories between what may be written and a place from being moved away: each is mounted on itself, and what is
// mounted cannot be renamed. A directory of the user's that is not there yet is made, since otherwise the plugin could make it. A link on the way
// cannot be pinned.
func (p *planner) pin(w way, root string, place Place) error {
	i := slices.IndexFunc(w.links, func(l hop) bool { return within(l.at, root) && changeable(l.at) })
	if i >= 0 {
		l := w.links[i]
		return &Refusal{Why: fmt.Sprintf("by write:fs:%s it may change the link %s, by which Patchbay finds %s: grant less", root, l.at, w.path)}
	}
	if place.Make {
		if err := os.MkdirAll(w.end, 0o700); err != nil {
			return fmt.Errorf("make %s, so that the plugin cannot: %w", w.end, err)
		}
	}
	for dir := filepath.Dir(w.end); below(dir, root); dir = filepath.Dir(dir) {
		if p.isGuarded(dir) || !changeable(dir) {
			continue // it is covered, and so mounted; or cannot be moved anyway
		}
		p.add("write:fs:"+root, jail.Mount{Kind: jail.Bind, Source: dir, Target: dir, Write: true, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	}
	return nil
}

// changeable reports whether the host's user may put something else in a path's place.
func changeable(path string) bool { return unix.Access(filepath.Dir(path), unix.W_OK) == nil }

func (p *planner) isGuarded(dir string) bool {
	return slices.ContainsFunc(p.opts.Guarded, func(place Place) bool { return within(dir, realPath(place.Path)) })
}
