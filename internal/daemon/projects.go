package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

const (
	mostProjects = 8                // projects whose plugins run at the same time, including the daemon's own
	projectIdle  = 10 * time.Minute // after which the plugins of another project are closed
)

// projects holds a set of plugin processes for each project in which agents work. The daemon's own
// set is always open. Another set is opened by the first event in that project, and closed when it
// was unused for a while or when its place is needed.
type projects struct {
	own  *pluginhost.Host
	log  *slog.Logger
	idle time.Duration
	most int

	changed func() // called when the plugins of a project were opened or closed; must return at once

	mu     sync.Mutex // protects the fields below
	sets   map[string]*project
	freed  chan struct{} // closed and replaced when no caller uses a set any more, or one could not be opened
	closed bool

	life context.Context // ends when the sets are closed
	die  context.CancelFunc
	busy sync.WaitGroup // sets that are being opened or closed, and the work of run
}

// A project is a set of plugins that work in one directory. The lock of projects protects its
// fields, except for the first three.
type project struct {
	root  string
	dir   os.FileInfo   // of the root: another directory may have its path later
	ready chan struct{} // closed when host and err are set
	host  *pluginhost.Host
	err   error
	later []update // to be made before it is ready, in this order
	users int
	used  time.Time // when users became zero
	timer *time.Timer
}

// An update changes a set of plugins. Its name is for the log.
type update struct {
	name string
	make func(context.Context, *pluginhost.Host) error
}

func newProjects(own *pluginhost.Host, log *slog.Logger) *projects {
	life, die := context.WithCancel(context.Background())
	return &projects{own: own, log: log, idle: projectIdle, most: mostProjects - 1, changed: func() {},
		sets: make(map[string]*project), freed: make(chan struct{}), life: life, die: die}
}

// errProjectsClosed is returned for work that begins while the daemon ends.
var errProjectsClosed = errors.New("the plugins are being closed")

// A NoDirectoryError reports that the working directory of a session or an agent no longer exists.
type NoDirectoryError struct{ Dir string }

func (e *NoDirectoryError) Error() string {
	return fmt.Sprintf("the working directory %s is gone: create it again, or use another", e.Dir)
}

// in returns the plugins that work in the project of a directory, and a function to call when they
// are no longer in use.
func (p *projects) in(ctx context.Context, dir string) (host *pluginhost.Host, done func(), err error) {
	if dir == "" {
		return p.own, func() {}, nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil, &NoDirectoryError{dir}
	}
	root := pluginhost.ProjectRoot(dir)
	if root == p.own.Project() {
		return p.own, func() {}, nil
	}
	at, err := os.Stat(root)
	if err != nil {
		return nil, nil, &NoDirectoryError{root}
	}
	one, err := p.take(ctx, root, at)
	if err != nil {
		return nil, nil, err
	}
	select {
	case <-one.ready:
	case <-ctx.Done():
		p.leave(one)
		return nil, nil, ctx.Err()
	}
	if one.err != nil {
		p.leave(one)
		return nil, nil, one.err
	}
	return one.host, func() { p.leave(one) }, nil
}

// take counts one more caller that uses a project's plugins, and opens them if necessary. If too
// many projects are in use, it waits.
func (p *projects) take(ctx context.Context, root string, at os.FileInfo) (*project, error) {
	for {
		one, freed, err := p.try(root, at)
		if one != nil || err != nil {
			return one, err
		}
		p.log.Info("waiting: the plugins of too many projects are in use", "project", root, "most", p.most+1)
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try is take without waiting. It returns neither a project nor an error if there is no free place.
func (p *projects) try(root string, at os.FileInfo) (*project, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errProjectsClosed
	}
	one := p.sets[root]
	if one != nil && !os.SameFile(one.dir, at) { // the processes work in a directory that was removed
		p.remove(one)
		one = nil
	}
	if one == nil {
		if len(p.sets) >= p.most && !p.makeRoom() {
			return nil, p.freed, nil
		}
		one = &project{root: root, dir: at, ready: make(chan struct{})}
		p.sets[root] = one
		p.busy.Go(func() { p.open(p.life, one) }) // others may wait for it after this caller has gone
	}
	one.users++
	if one.timer != nil {
		one.timer.Stop()
	}
	return one, nil, nil
}

// open starts the plugins of a project. The dialects limit how long that takes.
func (p *projects) open(ctx context.Context, one *project) {
	began := time.Now()
	host, err := p.own.In(ctx, one.root)
	p.mu.Lock()
	defer p.mu.Unlock()
	for err == nil && len(one.later) > 0 {
		u := one.later[0]
		one.later = one.later[1:]
		p.mu.Unlock()
		p.update(ctx, one.root, host, u)
		p.mu.Lock()
	}
	defer close(one.ready)
	one.host, one.err = host, err
	defer p.changed()
	if err == nil {
		p.log.Info("plugins opened for a project", "project", one.root, "dur", time.Since(began))
		return
	}
	if p.closed {
		one.err = errProjectsClosed
		return
	}
	p.log.Warn("cannot start the plugins of a project", "project", one.root, "err", err)
	if p.sets[one.root] == one {
		delete(p.sets, one.root) // the next caller tries again
		p.free()
	}
}

// free wakes the callers that wait for a place. The caller holds the lock.
func (p *projects) free() {
	close(p.freed)
	p.freed = make(chan struct{})
}

// leave counts one caller less that uses a project's plugins.
func (p *projects) leave(one *project) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.users--
	if one.users > 0 || p.closed {
		return
	}
	if p.sets[one.root] != one {
		p.busy.Go(func() { p.end(one) })
		return
	}
	one.used = time.Now()
	one.timer = time.AfterFunc(p.idle, func() { p.closeIdle(one) })
	p.free()
}

// closeIdle closes the plugins of a project that was unused for a while.
func (p *projects) closeIdle(one *project) {
	p.mu.Lock()
	if one.users == 0 && p.sets[one.root] == one && time.Since(one.used) >= p.idle {
		p.remove(one)
	}
	p.mu.Unlock()
}

// remove removes a project from the sets. Its plugins are closed when their last user leaves. The
// caller holds the lock.
func (p *projects) remove(one *project) {
	delete(p.sets, one.root)
	if one.timer != nil {
		one.timer.Stop()
	}
	if one.users == 0 {
		p.busy.Go(func() { p.end(one) })
	}
}

// makeRoom closes the project that was unused for longest, and reports whether there was one. The
// caller holds the lock.
func (p *projects) makeRoom() bool {
	var oldest *project
	for _, one := range p.sets {
		if one.users == 0 && (oldest == nil || one.used.Before(oldest.used)) {
			oldest = one
		}
	}
	if oldest == nil {
		return false
	}
	p.remove(oldest)
	return true
}

// end closes the plugins of a project that was removed from the sets.
func (p *projects) end(one *project) {
	<-one.ready
	if one.host == nil {
		return
	}
	if err := one.host.Close(); err != nil {
		p.log.Warn("closing the plugins of a project failed", "project", one.root, "err", err)
		return
	}
	p.log.Info("plugins closed for a project", "project", one.root)
}

// hosts returns the open sets of plugins, the daemon's own first.
func (p *projects) hosts() []*pluginhost.Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := []*pluginhost.Host{p.own}
	for _, one := range p.sets {
		if one.host != nil {
			hosts = append(hosts, one.host)
		}
	}
	return hosts
}

// each updates the plugins of every project but the daemon's own, all at once, because one of them
// may have to wait for a long call. Plugins that are being opened got the old settings: they are
// updated before their first caller gets them, and each does not wait for that.
func (p *projects) each(ctx context.Context, name string, do func(context.Context, *pluginhost.Host) error) {
	u := update{name, do}
	var all sync.WaitGroup
	p.mu.Lock()
	for _, one := range p.sets {
		if one.host == nil {
			one.later = append(one.later, u)
			continue
		}
		all.Go(func() { p.update(ctx, one.root, one.host, u) })
	}
	p.mu.Unlock()
	all.Wait()
}

// update updates the plugins of a project. It logs an error, which leaves them as they were.
func (p *projects) update(ctx context.Context, root string, host *pluginhost.Host, u update) {
	if err := u.make(ctx, host); err != nil && ctx.Err() == nil && !errors.Is(err, pluginhost.ErrClosed) {
		p.log.Warn("cannot update the plugins of a project", "project", root, "at", u.name, "err", err)
	}
}

// run runs do on its own goroutine, until the plugins are closed.
func (p *projects) run(do func(context.Context)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.busy.Go(func() { do(p.life) })
	}
}

// close closes all plugins but the daemon's own. Turns have ended by then or have been given up. It
// does not wait until plugins that are being opened are ready.
func (p *projects) close() {
	p.mu.Lock()
	p.closed = true
	p.die()
	for _, one := range p.sets {
		if one.timer != nil {
			one.timer.Stop()
		}
		p.busy.Go(func() { p.end(one) })
	}
	p.sets = nil
	p.mu.Unlock()
	p.busy.Wait()
}

// findings lists the problems of the daemon's own plugins, and the further problems of those in
// other projects.
func (p *projects) findings() []pluginhost.Finding {
	hosts := p.hosts()
	all := hosts[0].Doctor()
	own := slices.Clone(all)
	for _, host := range hosts[1:] {
		for _, f := range host.Doctor() {
			if !slices.Contains(own, f) {
				f.Problem = "in " + host.Project() + ": " + f.Problem
				all = append(all, f)
			}
		}
	}
	return all
}
