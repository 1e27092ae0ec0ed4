package plugindev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// Options describe the plugin and its session.
type Options struct {
	// Path is the plugin's directory or file. If a file there changes, the plugin is restarted.
	Path string
	// Watch lists more files and directories. If they change, the plugin is restarted too.
	Watch []string
	// Open opens a host with only that plugin, with this logger and this function for
	// notifications. The plugin changes all the time, so a host that distrusts changed plugins must
	// exempt it.
	Open func(ctx context.Context, log *slog.Logger, notify func(pluginhost.Notification)) (*pluginhost.Host, error)
	// Emit is called with each event, one at a time. It must not call the session.
	Emit func(Event)
	// Verbose adds the host's debug log.
	Verbose bool
}

func (o *Options) places() []string { return append([]string{o.Path}, o.Watch...) }

// Why a plugin was started.
const (
	atStart   = "start"
	atChange  = "change"
	atRestart = "restart"
)

// callGrace is how long a running call may continue after the plugin's files have changed.
const callGrace = 2 * time.Second

// A Session is one plugin during development. Its methods are safe for concurrent use.
type Session struct {
	o    Options
	log  *slog.Logger
	stop context.CancelFunc // ends the watch
	done sync.WaitGroup

	telling sync.Mutex // serialises Emit

	mu      sync.Mutex // held for each command and each load; protects the fields below
	host    *pluginhost.Host
	plugin  *pluginhost.PluginDetail // nil: it does not work
	seen    snapshot                 // the files that were loaded
	tooMany bool                     // the warning about too many files was given
	own     map[string]int           // how often the plugin itself seems to have changed a file
	last    *Command                 // the last one that was sent to the plugin

	callMu sync.Mutex         // protects the field below
	cancel context.CancelFunc // cancels the running call; nil: there is none
}

// Start opens the plugin and begins to watch its files. A plugin that does not work is an event,
// not an error: its author will fix it. The error is for a path without a plugin.
func Start(ctx context.Context, o Options) (*Session, error) {
	s := &Session{o: o, own: make(map[string]int)}
	s.log = logger(s.emit, o.Verbose)
	s.mu.Lock()
	err := s.load(ctx, atStart)
	s.mu.Unlock()
	if err != nil && (noPlugin(err) || ctx.Err() != nil) {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	s.done.Go(func() { s.watch(watching, func() { s.reloadChanged(watching) }) })
	return s, nil
}

// noPlugin reports whether err is the error of a path without a plugin.
func noPlugin(err error) bool {
	return errors.Is(err, pluginhost.ErrNotFound) || errors.Is(err, pluginhost.ErrNoDialect)
}

// Close ends the plugin and the watch. No process is left.
func (s *Session) Close() error {
	if s.stop != nil {
		s.stop()
	}
	s.GiveUp()
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.unload()
	s.emit(Event{Event: Ended})
	return err
}

// emit reports an event.
func (s *Session) emit(e Event) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	s.o.Emit(e)
}

// load opens the plugin. The caller holds mu.
func (s *Session) load(ctx context.Context, reason string) error {
	began := time.Now()
	s.seen = s.take()
	host, err := s.o.Open(ctx, s.log, s.heard)
	if err != nil {
		if ctx.Err() == nil && !(reason == atStart && noPlugin(err)) {
			s.emit(Event{Event: Broken, Reason: reason, Problems: problemsOf(s.o.Path, err)})
		}
		return err
	}
	s.host = host
	if ctx.Err() != nil {
		return ctx.Err() // the load was cancelled: the plugin is not broken
	}
	s.noteOwn()
	all := host.Plugins()
	if len(all) == 0 {
		s.emit(Event{Event: Broken, Reason: reason, Problems: []dialect.Problem{{Path: s.o.Path, Message: "there is no plugin here any more"}}})
		return nil
	}
	detail, err := host.Plugin(all[0].Dialect + ":" + all[0].Name)
	if err != nil {
		s.emit(Event{Event: Broken, Reason: reason, Problems: problemsOf(s.o.Path, err)})
		return nil
	}
	if detail.State != dialect.Ready {
		s.emit(Event{Event: Broken, Reason: reason, Plugin: &detail.PluginInfo, Problems: s.problems(detail)})
		return nil
	}
	s.plugin = detail
	s.emit(Event{Event: Ready, Reason: reason, Plugin: &detail.PluginInfo, Duration: time.Since(began), List: s.targets()})
	for _, w := range detail.Warnings {
		s.emit(Event{Event: Logged, Level: "warning", Text: placed(w), Fix: w.Fix})
	}
	return nil
}

// problems says why a plugin does not work: each fault with its line, if that is known.
func (s *Session) problems(p *pluginhost.PluginDetail) []dialect.Problem {
	if len(p.Problems) > 0 {
		return p.Problems
	}
	if p.Error == nil {
		return []dialect.Problem{{Path: p.Path, Message: "it is " + string(p.State)}}
	}
	why := dialect.Problem{Path: p.Path, Message: *p.Error}
	for _, f := range s.host.Doctor() {
		if f.Where == p.Path && strings.HasPrefix(*p.Error, f.Problem) {
			why.Message, why.Fix = f.Problem, f.Fix
		}
	}
	return []dialect.Problem{why}
}

// problemsOf returns the problems in an error of the host. Problems of the configuration have their
// own places.
func problemsOf(path string, err error) []dialect.Problem {
	if located, ok := errors.AsType[interface {
		error
		Problems() []dialect.Problem
	}](err); ok {
		return located.Problems()
	}
	if faults, ok := errors.AsType[*config.Error](err); ok {
		var list []dialect.Problem
		for _, p := range faults.Problems {
			list = append(list, dialect.Problem{Path: p.File, Line: p.Line, Column: p.Column, Message: p.Message, Fix: p.Fix})
		}
		return list
	}
	return []dialect.Problem{{Path: path, Message: err.Error()}}
}

// heard handles a notification of the plugin.
func (s *Session) heard(n pluginhost.Notification) {
	s.emit(Event{Event: Notification, Time: n.Time, Text: n.Method, Params: n.Params})
}

// unload ends the plugin. The caller holds mu.
func (s *Session) unload() error {
	if s.host == nil {
		return nil
	}
	host := s.host
	s.host, s.plugin = nil, nil
	return host.Close()
}

// reload restarts the plugin. The caller holds mu.
func (s *Session) reload(ctx context.Context, reason string) {
	if err := s.unload(); err != nil {
		s.emit(Event{Event: Logged, Level: "warning", Text: "the plugin was not closed cleanly", Error: err.Error()})
	}
	_ = s.load(ctx, reason) // the error was reported
}

// reloadChanged restarts the plugin if its files have changed. A running call has a moment to end.
func (s *Session) reloadChanged(ctx context.Context) {
	if !s.mu.TryLock() {
		given := time.AfterFunc(callGrace, func() {
			if len(s.changedWhileCalled()) > 0 {
				s.GiveUp()
			}
		})
		defer given.Stop()
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	s.reloadChangedLocked(ctx)
}

// changedWhileCalled lists the files that have changed during a call. It reads seen and own without
// mu. That is safe, because the goroutine that holds mu uses them only before and after the call.
func (s *Session) changedWhileCalled() []string {
	s.callMu.Lock()
	defer s.callMu.Unlock()
	if s.cancel == nil {
		return nil
	}
	return s.changed()
}

// reloadChangedLocked restarts the plugin if its files have changed since they were loaded. The
// caller holds mu.
func (s *Session) reloadChangedLocked(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	files := s.changed()
	if len(files) == 0 {
		return
	}
	s.emit(Event{Event: Changed, Files: files})
	s.reload(ctx, atChange)
}

// take records the plugin's files, and warns once if there are too many. The caller holds mu, or
// callMu while a call runs.
func (s *Session) take() snapshot {
	now, complete := take(s.o.places())
	if !complete && !s.tooMany {
		s.tooMany = true
		s.emit(Event{Event: Logged, Level: "warning", Text: fmt.Sprintf("there are more than %d files: changes of the deepest ones are not noticed", mostFiles),
			Fix: "restart the plugin after such a change, or move files that are not its own elsewhere"})
	}
	return now
}

// changed lists the files that differ from the loaded ones, except for those that the plugin
// changes itself.
func (s *Session) changed() []string {
	return slices.DeleteFunc(s.take().since(s.seen), func(f string) bool { return s.own[f] >= ownAfter })
}

// ownAfter is how often a file must change while the plugin starts or answers until it counts as
// written by the plugin. A single change may be the author's.
const ownAfter = 2

// noteOwn records the files that changed while the plugin started or answered. The caller holds mu.
func (s *Session) noteOwn() {
	for _, file := range s.take().since(s.seen) {
		if s.own[file]++; s.own[file] == ownAfter {
			s.emit(Event{Event: Logged, Level: "info", Text: "the plugin writes " + file + " itself: changes of this file no longer restart the plugin"})
		}
	}
}

// GiveUp ends the running call, if there is one.
func (s *Session) GiveUp() {
	s.callMu.Lock()
	defer s.callMu.Unlock()
	if s.cancel != nil {
		s.cancel()
	}
}

// during runs the call that GiveUp can end.
func (s *Session) during(ctx context.Context, call func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.callMu.Lock()
	s.cancel = cancel
	s.callMu.Unlock()
	call(ctx)
	s.callMu.Lock()
	s.cancel = nil
	s.callMu.Unlock()
	s.noteOwn()
}
