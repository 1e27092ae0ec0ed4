package sandbox

import (
	"bytes"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/program"
)

// headSize is how many bytes of a loader the kernel compares to recognise it: the header of an ELF
// file, which contains the entry address and offsets that depend on its length.
const headSize = 64

// barLoaders records the first bytes of the loaders, so that the jail can bar them from being
// started directly. A loader that may be started as a program is not barred, nor one that has the
// same first bytes as such a program. Without Landlock every visible program may be executed, so
// nothing is barred.
func (p *planner) barLoaders() {
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

// startableAt reports whether a file lies in a directory whose programs may be started.
func (p *planner) startableAt(file string) bool {
	file = realPath(file)
	return slices.ContainsFunc(p.startable, func(place string) bool { return within(file, realPath(place)) })
}

// head returns the first bytes of a file, or nil if it is too short or not a regular file.
func head(path string) []byte {
	start := program.Head(path)
	if len(start) < headSize {
		return nil
	}
	return start[:headSize]
}
