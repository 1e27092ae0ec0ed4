package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox/jail"
)

const (
	coverSize  = 64 << 10 // the limit, in bytes, of the empty directory that covers a hidden place
	shownSize  = 4 << 20  // the same for a covering directory that contains mount points
	coverFiles = 1 << 10  // the limit on the number of files in either
)

// guard keeps the plugin out of Patchbay's own places (docs/security.md, "Patchbay's own places").
// It refuses a grant that is one of them or lies in one. Where the plugin sees a directory that
// contains one, it covers that place.
func (p *planner) guard() error {
	if slices.ContainsFunc(p.opts.Grants, isFile) {
		if err := p.guardGrants(readMounts()); err != nil {
			return err
		}
	}
	for _, place := range p.opts.Guarded {
		if !place.Hidden && (len(p.origins.writable) == 0 || p.isHidden(realPath(place.Path))) {
			continue // it may be read, and the plugin can change nothing; or another place hides the same directory
		}
		if err := p.cover(place); err != nil {
			return err
		}
	}
	return nil
}

func (p *planner) guardGrants(mounts []mounted) error {
	for _, g := range p.opts.Grants {
		if !isFile(g) {
			continue
		}
		if err := cmp.Or(p.guardGrant(g), p.guardAliases(g, mounts)); err != nil {
			return err
		}
	}
	return nil
}

// guardGrant refuses a grant within one of the places, unless the host itself lends it to the
// plugin, or it lies below the plugin's own files.
func (p *planner) guardGrant(g capability.Capability) error {
	end := realPath(g.Path)
	for _, place := range p.opts.Guarded {
		at := realPath(place.Path)
		if within(end, at) && (place.Hidden || g.Kind == capability.WriteFS) && !p.excepted(end, at) {
			return &Refusal{Why: fmt.Sprintf("%s is part of %s, which is Patchbay's own: no plugin may have it; grant another directory", g, place.Path)}
		}
	}
	return nil
}

// excepted reports whether a path within a place may be granted nevertheless. It may not if the
// place itself lies within the lent directory or the plugin's files.
func (p *planner) excepted(path, place string) bool {
	lent := func(dir string) bool { dir = realPath(dir); return within(path, dir) && !below(place, dir) }
	own := func(dir string) bool { return below(path, dir) && !below(place, dir) }
	return slices.ContainsFunc(p.opts.Lent, lent) || slices.ContainsFunc(p.origins.own, own)
}

// cover covers a place that the plugin would see: with the place itself, read-only, or with an
// empty directory if the place is hidden. If place.Make is set, a missing directory is created
// first. Otherwise the plugin could create it, or it could be created while the plugin runs, and
// would not be covered.
func (p *planner) cover(place Place) error {
	w := walk(place.Path)
	if place.WithDir {
		dir := filepath.Dir(w.end)
		if slices.Contains(p.origins.writable, dir) {
			return refuseWriter(dir, w.end)
		}
		w = walk(dir)
	}
	root, write := p.containing(w)
	switch {
	case root == "", !write && !place.Hidden, p.plan.Simple && place.BestEffort:
		return nil
	case p.plan.Simple && (write || !p.opts.ReadAll):
		return &Refusal{Why: fmt.Sprintf("%s contains %s, which is Patchbay's own, and Landlock alone cannot exclude a part of a directory: move that part, or grant less", root, place.Path)}
	case p.plan.Simple:
		return nil // with ReadAll it may read everything
	}
	if err := p.checkLinks(w); err != nil {
		return err
	}
	if !exists(w.end) && !changeable(w.end) {
		return nil // only the administrator can create it
	}
	if place.Make {
		if err := os.MkdirAll(w.end, place.mode()); err != nil {
			return fmt.Errorf("create %s before the plugin can: %w", w.end, err)
		}
	}
	p.pin(w)
	info, err := os.Lstat(w.end)
	switch {
	case err == nil && info.IsDir() && place.Hidden:
		p.add("Patchbay's own, hidden", jail.Mount{Kind: jail.Temp, Target: w.end, Size: coverSize, Files: coverFiles})
	case err == nil && info.IsDir():
		p.add(becauseGuarded, p.readOnly(w.end))
	default:
		return p.coverFile(w.end, place, err == nil)
	}
	return nil
}

// mode returns the mode with which the directory is created.
func (p Place) mode() os.FileMode {
	if p.Shared {
		return 0o755
	}
	return 0o700
}

const becauseGuarded = "Patchbay's own, to be read only"

func (p *planner) readOnly(path string) jail.Mount {
	return jail.Mount{Kind: jail.Bind, Source: path, Target: path, Exec: p.opts.ReadAll, Lend: true, Missing: true}
}

// coverFile covers a place that is a file or is missing. A mount on a file disappears when the file
// is replaced, as editors do, and nothing can be mounted on a missing file. So it covers the
// directory that contains the file.
func (p *planner) coverFile(path string, place Place, exists bool) error {
	dir := filepath.Dir(path)
	switch {
	case p.isGuarded(dir) && !place.Hidden:
		return nil // the plugin cannot change anything in the directory
	case !changeable(path) && !exists:
		return nil // only the administrator can create it
	case !changeable(path) && place.Hidden:
		p.add("", jail.Mount{Kind: jail.Bind, Source: hidden, Target: path, Missing: true})
		return nil
	case !changeable(path):
		p.add(becauseGuarded, p.readOnly(path))
		return nil
	case !p.isGuarded(dir) && withinAny(dir, p.origins.writable):
		return refuseWriter(dir, path)
	}
	if !exists && !place.Hidden {
		return nil // the plugin cannot create it
	}
	return p.showWithoutHidden(dir)
}

// refuseWriter refuses a plugin that may write in the directory of a file of Patchbay's.
func refuseWriter(dir, file string) error {
	return &Refusal{Why: fmt.Sprintf("it may change %s, which contains %s, a file of Patchbay's own: move that file, or grant less", dir, file)}
}

// maxShown bounds the number of entries of a directory that is shown without its hidden files.
const maxShown = 1000

// showWithoutHidden shows a directory as it is now, without its hidden entries: an empty directory
// covers it, and the other entries are mounted in that. Entries that are created later are not
// visible.
func (p *planner) showWithoutHidden(dir string) error {
	if root, _ := p.containing(walk(dir)); p.has(jail.Firm, dir) || root != "" && p.isHidden(dir) {
		return nil
	}
	isDir := func(place Place) bool { return place.Make && realPath(place.Path) == dir }
	if i := slices.IndexFunc(p.opts.Guarded, isDir); i >= 0 {
		if err := os.MkdirAll(dir, p.opts.Guarded[i].mode()); err != nil {
			return fmt.Errorf("create %s, to hide files that are created in it later: %w", dir, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list %s, to hide Patchbay's files in it: %w", dir, err)
	}
	if len(entries) > maxShown {
		return &Refusal{Why: fmt.Sprintf("%s contains a file of Patchbay's that must be hidden, and more than %d others: move that file, or grant less", dir, maxShown)}
	}
	p.add("", jail.Mount{Kind: jail.Firm, Target: dir, Size: shownSize, Files: coverFiles})
	for _, e := range entries {
		p.showEntry(filepath.Join(dir, e.Name()), e.Type())
	}
	return nil
}

// showEntry mounts one entry of a directory that showWithoutHidden covers, unless it is hidden or
// mounted already.
func (p *planner) showEntry(path string, kind os.FileMode) {
	switch {
	case slices.ContainsFunc(p.opts.Guarded, func(place Place) bool { return place.hides(path) }), p.has(jail.Bind, path), p.has(jail.Temp, path):
	case kind.IsRegular(), kind.IsDir():
		p.add(becauseGuarded, p.readOnly(path))
	case kind == os.ModeSymlink:
		if target, err := os.Readlink(path); err == nil {
			p.add("", jail.Mount{Kind: jail.Link, Source: target, Target: path})
		}
	}
}

// hides reports whether path is this place, and the place is hidden, or whether path is a copy that
// an editor left beside a hidden file. Copies come and go, so they are looked for at each start.
func (p Place) hides(path string) bool {
	if !p.Hidden {
		return false
	}
	for _, at := range []string{p.Path, realPath(p.Path)} {
		if at == path || filepath.Dir(at) == filepath.Dir(path) && strings.Contains(filepath.Base(path), filepath.Base(at)) && !p.Make && !isDir(at) {
			return true
		}
	}
	return false
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// has reports whether the plan has a mount of this kind at a path.
func (p *planner) has(kind jail.Kind, path string) bool {
	return slices.ContainsFunc(p.plan.Mounts, func(m jail.Mount) bool { return m.Kind == kind && m.Target == path })
}

// containing returns a tree that the plugin sees and that contains a place, and whether the plugin
// may change such a tree. Some trees are visible without a grant: the system's libraries and data,
// the libraries beside a program, the plugin's own files.
func (p *planner) containing(w way) (root string, write bool) {
	if p.opts.ReadAll {
		root = "/"
	}
	for _, m := range p.plan.Mounts {
		if root == "" && m.Kind == jail.Bind && below(w.end, m.Source) {
			root = m.Source
		}
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

// passes reports whether the way passes a link that lies in one of the directories.
func (w way) passes(dirs ...string) bool {
	_, ok := w.through(dirs)
	return ok
}

// checkLinks refuses a plugin that may change a link on the way to a place: a link cannot be
// pinned.
func (p *planner) checkLinks(w way) error {
	i := slices.IndexFunc(w.links, func(l hop) bool { return withinAny(l.at, p.origins.writable) && changeable(l.at) })
	if i < 0 {
		return nil
	}
	l := w.links[i]
	return &Refusal{Why: fmt.Sprintf("by write:fs:%s it may change the link %s, by which Patchbay finds %s: grant less", p.writable(l.at), l.at, w.path)}
}

// pin keeps the directories between a writable grant and a place from being moved away: it mounts
// each directory on itself, and a mount point cannot be renamed. Of nested grants only the
// outermost is mounted, so the directories below that are pinned.
func (p *planner) pin(w way) {
	for dir := filepath.Dir(w.end); dir != "/"; dir = filepath.Dir(dir) {
		inside := func(root string) bool { return below(dir, root) }
		if !slices.ContainsFunc(p.origins.writable, inside) || p.isGuarded(dir) || !changeable(dir) {
			continue // it cannot be moved, or it is covered and so a mount point
		}
		p.add("write:fs:"+p.writable(dir), jail.Mount{Kind: jail.Bind, Source: dir, Target: dir, Write: true, Exec: p.opts.ReadAll, Lend: true, Missing: true})
	}
}

// changeable reports whether the host's user may replace the file at a path. If directories on the
// way are missing, the last existing one counts.
func changeable(path string) bool {
	for path != "/" {
		path = filepath.Dir(path)
		if err := unix.Access(path, unix.W_OK); !errors.Is(err, fs.ErrNotExist) {
			return err == nil
		}
	}
	return false
}

// isHidden reports whether a directory is one of the hidden places. It may be several places at
// once.
func (p *planner) isHidden(dir string) bool {
	return slices.ContainsFunc(p.opts.Guarded, func(place Place) bool { return place.Hidden && realPath(place.Path) == dir })
}

func (p *planner) isGuarded(dir string) bool {
	return slices.ContainsFunc(p.opts.Guarded, func(place Place) bool { return within(dir, realPath(place.Path)) })
}
