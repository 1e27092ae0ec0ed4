package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// Reload reads all files again, for all plugins: the configuration, the secrets, and the plugins'
// own, which it looks for as [Host.Refresh] does. For the config of one plugin there is
// [Host.Reconfigure]. Plugins about which the configuration now says something else, whose files
// have changed, or that did not work, are opened anew beside the old ones; the others go on
// undisturbed. Events under way go on with the plugins that they began with, and those are closed
// when the last such event is over: no event is lost.
//
// It is all or nothing: where a file is at fault, or ctx ends, the host is as it was. A plugin
// whose new files do not work goes on as it was too, and [Host.Doctor] says so. What the engine and
// the server of the host were opened with stays. Who has read the configuration and the secrets
// already hands them in; nil: they are read.
func (h *Host) Reload(ctx context.Context, read *Files) error {
	h.turning.Lock()
	defer h.turning.Unlock()
	if h.isClosed() {
		return ErrClosed
	}
	before := h.setup()
	next := &setup{Options: before.Options, env: before.env, projectRoot: before.projectRoot, dialects: before.dialects}
	next.Files = read
	if err := next.load(); err != nil {
		return err
	}
	h.current.Store(next)
	err := h.renew(ctx, next.names(), true)
	if err != nil {
		h.current.Store(before)
	}
	return err
}

// outdated tells whether a plugin that is known is to be opened anew when everything is read again.
func (s *search) outdated(known *entry, x sighting, now stamp) bool {
	_, ownChanges := known.plugin.(dialect.Reloader)
	return known.plugin == nil || !ownChanges && known.stamp != now || !s.configuredAs(known, x) || !sameServer(known.found, x.found)
}

// configuredAs tells whether the configuration says of a plugin what it was opened with.
func (s *search) configuredAs(known *entry, x sighting) bool {
	probe := &entry{found: x.found, names: known.names, dialect: x.dialect}
	probe.settings.Grants = known.settings.Grants
	probe.trust = s.host.setup().trust.Judge([]trust.Plugin{s.host.tracked(probe)})[0]
	probe.settings.Withheld = probe.trust.Withheld
	s.host.configure(probe, s.now.names)
	refused := probe.trust.Err != nil && s.host.setup().trust.Policy() == trust.Locked
	return !refused && probe.state == "" && reflect.DeepEqual(probe.own, known.own) && reflect.DeepEqual(probe.settings, known.settings) &&
		reflect.DeepEqual(s.host.policyOf(probe), known.policy)
}

// keepWorking puts the plugins back whose new files do not work, where nothing but their files has
// changed.
func (h *Host) keepWorking(before, now *roster) {
	for i, e := range now.entries {
		old := before.at(e.found)
		if old == nil || old == e || old.plugin == nil || e.plugin != nil || e.state != dialect.Broken || !reflect.DeepEqual(old.own, e.own) {
			continue
		}
		if _, refused := errors.AsType[*trust.Refusal](e.err); refused && old.stamp == e.stamp {
			continue // its files are those that run, and nobody trusts them
		}
		if _, fleeting := old.plugin.(dialect.Fleeting); fleeting {
			continue // its next call would start the new file
		}
		h.setup().Logger.Warn("plugin goes on as it was: its new files do not work", "plugin", old.info.Name, "dialect", old.found.Dialect, "err", e.err)
		now.entries[i] = old
		now.kept = append(now.kept, keptEntry{old, e.err})
	}
}

// A keptEntry is a plugin that goes on as it was, because its new files do not work.
type keptEntry struct {
	*entry
	why error
}

func (k keptEntry) finding() Finding {
	return finding(SeverityError, k.entry, k.found.Dialect, dialect.Problem{Path: k.found.Path,
		Message: fmt.Sprintf("its files have changed and do not work, so it goes on as it was: %v", k.why), Fix: "correct it, and reload"})
}

// enter is the roster that an event, or a call, uses until [roster.leave].
func (h *Host) enter() *roster {
	for {
		r := h.plugins.Load()
		if r == nil {
			return &roster{}
		}
		r.uses.Add(1)
		if h.plugins.Load() == r {
			return r
		}
		r.leave() // it was replaced meanwhile
	}
}

// leave says that an event, or a call, is over.
func (r *roster) leave() {
	if r.uses.Add(-1) == 0 && r.retired.Load() {
		select {
		case r.idle <- struct{}{}:
		default: // whoever waits will see it
		}
	}
}

// retire closes the plugins of a roster that are not in the one that took its place, when the last
// event that uses it is over. Where that is now, its error is returned. Rosters retire one after
// the other: an event that entered one may have been given hooks of the next.
func (h *Host) retire(old, now *roster) error {
	old.retired.Store(true)
	previous, done := h.retired, make(chan struct{})
	h.retired = done
	if old.uses.Load() == 0 && isDone(previous) {
		defer close(done)
		return h.dismissOld(old, now)
	}
	h.retiring.Go(func() {
		defer close(done)
		if previous != nil {
			<-previous
		}
		h.awaitIdle(old)
		if err := h.dismissOld(old, now); err != nil {
			h.setup().Logger.Warn("a plugin did not end well", "err", err)
		}
	})
	return nil
}

func isDone(done <-chan struct{}) bool {
	if done == nil {
		return true
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// awaitIdle waits until nobody uses a roster that was replaced, or the host is closed.
func (h *Host) awaitIdle(r *roster) {
	for r.uses.Load() > 0 {
		select {
		case <-r.idle:
		case <-h.closed:
			return
		}
	}
}

// dismissOld closes who is gone. A plugin of code that was opened anew shares its interpreter with
// the old one, whose end unloads the file for both: it is loaded once more.
func (h *Host) dismissOld(old, now *roster) error {
	err := h.dismissThose(old, now)
	for _, e := range now.entries {
		p, ok := e.plugin.(dialect.Reloader)
		if before := old.at(e.found); ok && before != nil && before != e && before.plugin != nil {
			err = errors.Join(err, p.Reload(context.Background()))
		}
	}
	return err
}
