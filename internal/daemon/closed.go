package daemon

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/hookclient"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// mostClosed is how many projects the file of closed points lists.
const mostClosed = 64

// closedFile writes the file of closed points: for each point, the plugins that must be asked. The
// hooks of other agents read it if they cannot reach a daemon.
type closedFile struct {
	changed chan struct{} // has room for one signal: the plugins have changed since the file was written
	make    sync.Once

	mu   sync.Mutex // held while the file is written
	last hookclient.Closed
}

// signal returns the channel that announces that the file must be written again.
func (f *closedFile) signal() chan struct{} {
	f.make.Do(func() { f.changed = make(chan struct{}, 1) })
	return f.changed
}

// poke announces that plugins were added, removed or changed. It never waits.
func (f *closedFile) poke() {
	select {
	case f.signal() <- struct{}{}:
	default: // already announced
	}
}

// keepClosed writes the file whenever plugins change, until ctx ends.
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

// WriteClosed writes the file of closed points now.
func (c *Core) WriteClosed() {
	c.closed.mu.Lock()
	defer c.closed.mu.Unlock()
	next := c.closedPoints()
	if err := next.Write(c.Dirs.State); err != nil {
		c.log.Warn("cannot write closed-points.json, the list of plugins that must agree", "err", err)
		return
	}
	c.closed.last = next
}

// closedPoints returns the closed points of all projects. A project whose plugins are not running
// now keeps its entry, because they are started again when they are needed. All entries are dropped
// if the daemon's own points have changed. The caller holds the lock.
func (c *Core) closedPoints() hookclient.Closed {
	next := hookclient.Closed{Points: closedOf(c.Host), Projects: map[string]hookclient.ByPoint{}}
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

// closedIn returns the plugins that must be asked at some points in the project of a directory,
// also while its plugins are not running.
func (c *Core) closedIn(dir string, points []hook.Point) []string {
	c.closed.mu.Lock()
	defer c.closed.mu.Unlock()
	all := c.closedPoints()
	return all.At(pluginhost.ProjectRoot(dir), points)
}

// closedOf returns the closed points of one set of plugins.
func closedOf(host *pluginhost.Host) hookclient.ByPoint {
	by := hookclient.ByPoint{}
	for _, spec := range hook.Points() {
		if names := host.Closed(spec.Point); len(names) > 0 {
			by[spec.Point] = names
		}
	}
	return by
}

func equalPoints(a, b hookclient.ByPoint) bool { return maps.EqualFunc(a, b, slices.Equal[[]string]) }
