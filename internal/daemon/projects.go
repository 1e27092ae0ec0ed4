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
	mostProjects = 8                // whose plugins run at once, the daemon's own project included
	projectIdle  = 10 * time.Minute // after which the plugins of another project are closed
)

// projects are the sets of plugin processes, one for each project that work is done in. The
// daemon's own is always open. Another's is opened with the first event there, and closed when
// nothing has happened there for a while, or when its place is needed.
type projects struct {
	own  *pluginhost.Host
	log  *slog.Logger
	idle time.Duration
	most int

	changed func() // told when the plugins of a project are there, or gone; it must return at once

	mu     sync.Mutex // protects the fields below
	sets   map[string]*project
	freed  chan struct{} // closed, and replaced, when a set is used by nobody any more
	closed bool

	ending sync.WaitGroup // of sets that were given up
}

// A project is a set of plugins that work in one directory. The fields but the first two are
// protected by the projects' lock.
type project struct {
	root  string
	ready chan struct{} // closed when host and err are final
	host  *pluginhost.Host
	err   error
	users int
	used  time.Time // when the last of them went
	timer *time.Timer
}

func newProjects(own *pluginhost.Host, log *slog.Logger) *projects {
	return &projects{own: own, log: log, idle: projectIdle, most: mostProjects - 1, changed: func() {},
		sets: make(map[string]*project), freed: make(chan struct{})}
}

// errProjectsClosed is returned for work that begins when the daemon ends.
var errProjectsClosed = errors.New("the plugins are being closed")

// NoDirectoryError says that the working directory of a session, or of an agent, is not there any
// more.
type NoDirectoryError struct{ Dir string }

func (e *NoDirectoryError) Error() string {
	return fmt.Sprintf("the working directory %s is gone: make it again, or work in another", e.Dir)
}

// in returns the plugins that work in the project of a directory, and a function that says that
// they are not used any more.
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
	one, err := p.take(ctx, root)
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

// take counts a user of a project's plugins, which are opened where they are not. Where too many
// projects are in use it waits.
func (p *projects) take(ctx context.Context, root string) (*project, error) {
	for {
		one, freed, err := p.try(ctx, root)
		if one != nil || err != nil {
			return one, err
		}
		p.log.Info("work waits: the plugins of too many projects are in use", "project", root, "most", p.most+1)
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// try is take without the wait: without a project and an error there is no place now.
func (p *projects) try(ctx context.Context, root string) (*project, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errProjectsClosed
	}
	one := p.sets[root]
	if one == nil {
		if len(p.sets) >= p.most && !p.makeRoom() {
			return nil, p.freed, nil
		}
		one = &project{root: root, ready: make(chan struct{})}
		p.sets[root] = one
		go p.open(context.WithoutCancel(ctx), one) // others may be waiting for it when this caller goes
	}
	one.users++
	if one.timer != nil {
		one.timer.Stop()
	}
	return one, nil, nil
}

// open starts the plugins of a project. The starts are bounded by the dialects.
func (p *projects) open(ctx context.Context, one *project) {
	began := time.Now()
	host, err := p.own.In(ctx, one.root)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer close(one.ready)
	one.host, one.err = host, err
	defer p.changed()
	if err == nil {
		p.log.Info("plugins opened for a project", "project", one.root, "dur", time.Since(began))
		return
	}
	p.log.Warn("the plugins of a project cannot be opened", "project", one.root, "err", err)
	if p.sets[one.root] == one {
		delete(p.sets, one.root) // the next one tries again
	}
}

// leave says that one user of a project's plugins is done with them.
func (p *projects) leave(one *project) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one.users--
	if one.users > 0 || p.sets[one.root] != one {
		return
	}
	one.used = time.Now()
	one.timer = time.AfterFunc(p.idle, func() { p.closeIdle(one) })
	close(p.freed)
	p.freed = make(chan struct{})
}

// closeIdle closes the plugins of a project where nothing has happened for a while.
func (p *projects) closeIdle(one *project) {
	p.mu.Lock()
	unused := one.users == 0 && p.sets[one.root] == one && time.Since(one.used) >= p.idle
	if unused {
		delete(p.sets, one.root)
		p.ending.Go(func() { p.end(one) })
	}
	p.mu.Unlock()
}

// makeRoom gives up the project that has been unused for longest, and says whether there was one.
// The caller holds the lock.
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
	delete(p.sets, oldest.root)
	oldest.timer.Stop()
	p.ending.Go(func() { p.end(oldest) })
	return true
}

// end closes the plugins of a project that nobody can reach any more.
func (p *projects) end(one *project) {
	<-one.ready
	if one.host == nil {
		return
	}
	if err := one.host.Close(); err != nil {
		p.log.Warn("the plugins of a project did not end well", "project", one.root, "err", err)
		return
	}
	p.log.Info("plugins closed for a project", "project", one.root)
}

// hosts are the plugins that are open, the daemon's own first.
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

// each has something done to the plugins of every project but the daemon's own. What fails there
// leaves them as they were.
func (p *projects) each(what string, do func(*pluginhost.Host) error) {
	for _, host := range p.hosts()[1:] {
		if err := do(host); err != nil && !errors.Is(err, pluginhost.ErrClosed) {
			p.log.Warn("the plugins of a project are as they were", "project", host.Project(), "at", what, "err", err)
		}
	}
}

// close ends all but the daemon's own plugins. Turns are over by then, or left behind.
func (p *projects) close() {
	p.mu.Lock()
	p.closed = true
	for _, one := range p.sets {
		if one.timer != nil {
			one.timer.Stop()
		}
		p.ending.Go(func() { p.end(one) })
	}
	p.sets = nil
	p.mu.Unlock()
	p.ending.Wait()
}

// findings are what is wrong with plugins: with the daemon's own, and with those of other projects
// as far as that is different.
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
