package sandbox

import (
	"bytes"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// headSize is how much of a loader the kernel is told, to know it by: the header of an ELF file, in
// which is the address it begins at and how long it is.
const headSize = 64

// bar notes what loaders begin with, for the jail to keep them from being started by hand. One that
// may be started as a program is not barred, nor one that cannot be told from such a program. Where
// everything in sight may be executed there is nothing to keep.
func (p *planner) bar() {
	if p.plan.Simple || landlockVersion() == 0 || p.opts.System != nil && p.opts.System.Loader != nil {
		return
	}
	var free [][]byte
	for _, program := range p.startable {
		free = append(free, head(program))
	}
	has := func(list [][]byte, one []byte) bool {
		return slices.ContainsFunc(list, func(other []byte) bool { return bytes.Equal(other, one) })
	}
	for _, loader := range p.loaders {
		start := head(loader)
		if start == nil || has(free, start) || has(p.plan.Loaders, start) || p.startableAt(loader) {
			continue
		}
		p.plan.Loaders = append(p.plan.Loaders, start)
	}
}

// startableAt reports whether a file lies where everything may be started.
func (p *planner) startableAt(file string) bool {
	file = realPath(file)
	return slices.ContainsFunc(p.startable, func(place string) bool { return within(file, realPath(place)) })
}

// head is the beginning of a file; nil where it has none, as a directory or a named pipe.
func head(path string) []byte {
	start := program.Head(path)
	if len(start) < headSize {
		return nil
	}
	return start[:headSize]
}
