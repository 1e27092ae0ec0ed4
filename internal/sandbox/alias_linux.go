package sandbox

import (
	"fmt"
	"os"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
)

// A mounted is one entry of the mount table.
type mounted struct {
	device string // of the file system
	root   string // the path within the file system that is mounted
	at     string
}

// readMounts reads the mount table of this process. It returns nil if it cannot, as without /proc.
func readMounts() []mounted {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var list []mounted
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, mounted{fields[2], unescape.Replace(fields[3]), unescape.Replace(fields[4])})
		}
	}
	return list
}

// aliases returns the other paths at which a place, or a part of it, is visible because its file
// system is mounted more than once. path must not contain links.
func aliases(path string, mounts []mounted) []string {
	var own mounted
	for _, m := range mounts { // a later mount lies on top
		if within(path, m.at) && len(m.at) >= len(own.at) {
			own = m
		}
	}
	inside := join(own.root, rest(path, own.at))
	var others []string
	for _, m := range mounts {
		alias := m.at
		switch {
		case m.device != own.device:
			continue
		case within(inside, m.root):
			alias = join(m.at, rest(inside, m.root))
		case !within(m.root, inside):
			continue
		}
		if !within(alias, path) && !differs(alias, path, within(inside, m.root)) {
			others = append(others, alias)
		}
	}
	return others
}

// differs reports whether alias leads to another file than path, because something else is mounted
// over one of them. whole says that alias shows all of path. If it shows only a part, the two are
// different files anyway, and differs returns false.
func differs(alias, path string, whole bool) bool {
	one, err := os.Lstat(alias)
	other, otherErr := os.Lstat(path)
	return whole && err == nil && otherErr == nil && !os.SameFile(one, other)
}

// rest returns the part of a path after a directory.
func rest(path, dir string) string { return strings.TrimPrefix(strings.TrimPrefix(path, dir), "/") }

// join appends a path to a directory.
func join(dir, below string) string {
	if below == "" {
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + below
}

// guardAliases refuses a grant that opens one of Patchbay's places under another path, at which the
// place would not be covered.
func (p *planner) guardAliases(g capability.Capability, mounts []mounted) error {
	end := realPath(g.Path)
	for _, place := range p.opts.Guarded {
		if !place.Hidden && g.Kind != capability.WriteFS {
			continue
		}
		for _, alias := range aliases(realPath(place.Path), mounts) {
			if within(end, alias) || within(alias, end) {
				return &Refusal{Why: fmt.Sprintf("%s opens %s, which is Patchbay's own and can also be reached at %s: grant less, or another directory", g, place.Path, alias)}
			}
		}
	}
	return nil
}
