package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/hookroad"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// mostClosed is how many projects the file of closed points tells of.
const mostClosed = 64

// closedFile keeps the file of closed points: which plugins have to be asked at which point. Where
// no daemon can be reached, the hooks of other agents read it.
type closedFile struct {
	changed chan struct{} // has room for one: the plugins are others than those of the file
	make    sync.Once

	mu   sync.Mutex // held while the file is written
	last hookroad.Closed
}

// signal is told when the file is to be written again.
func (f *closedFile) signal() chan struct{} {
	f.make.Do(func() { f.changed = make(chan struct{}, 1) })
	return f.changed
}

// poke says that plugins have come, gone or changed. It never waits.
func (f *closedFile) poke() {
	select {
	case f.signal() <- struct{}{}:
	default: // somebody has said so already
	}
}

// keepClosed writes the file, and then again whenever plugins change, until ctx ends.
func (c *Core) keepClosed(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.closed.signal():
			c.WriteClosed()
		}
	}
}

// WriteClosed writes the file of closed points as it is now.
func (c *Core) WriteClosed() {
	c.closed.mu.Lock()
	defer c.closed.mu.Unlock()
	next := c.closedPoints()
	if err := next.Write(c.Dirs.State); err != nil {
		c.log.Warn("who has to be asked is not written down", "err", err)
		return
	}
	c.closed.last = next
}

// closedPoints are the points of all projects. What was different in a project whose plugins are
// not running now stays so, unless something has changed for all: they are opened again when they
// are needed. The caller holds the lock.
func (c *Core) closedPoints() hookroad.Closed {
	next := hookroad.Closed{Points: closedOf(c.Host), Projects: map[string]hookroad.ByPoint{}}
	if equalPoints(next.Points, c.closed.last.Points) {
		maps.Copy(next.Projects, c.closed.last.Projects)
	}
	for _, host := range c.projects.hosts()[1:] {
		delete(next.Projects, host.Project())
		if own := closedOf(host); !equalPoints(own, next.Points) && len(next.Projects) < mostClosed {
			next.Projects[host.Project()] = own
		}
	}
	return next
}

// closedOf are the closed points of one set of plugins.
func closedOf(host *pluginhost.Host) hookroad.ByPoint {
	by := hookroad.ByPoint{}
	for _, spec := range hook.Points() {
		if names := host.Closed(spec.Point); len(names) > 0 {
			by[spec.Point] = names
		}
	}
	return by
}

func equalPoints(a, b hookroad.ByPoint) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }
