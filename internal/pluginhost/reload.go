package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// Reload reads all files again: the configuration, the secrets, and the plugins, for which it
// searches as [Host.Refresh] does. To apply the config of one plugin, use [Host.Reconfigure]. A
// plugin is opened again, beside the old one, if its configuration or its files have changed, or if
// it did not work. The others go on undisturbed. Events in progress finish with the plugins that
// they began with; those are closed after their last event, so no event is lost.
//
// Reload does everything or nothing. If a file is invalid, or ctx ends, the host stays as it was;
// only python plugins load changed files in any case, as they do before each turn. A plugin whose
// new files do not work also goes on as it was, and [Host.Doctor] reports it. The engine and the
// server keep the settings with which they were started. read returns the configuration and the
// secrets, if the caller has read them already; nil: Reload reads them. It is called when no other
// reload is in progress, so that older files cannot replace newer ones.
func (h *Host) Reload(ctx context.Context, read func() *Files) error {
	h.refreshMu.Lock()
	defer h.refreshMu.Unlock()
	if h.isClosed() {
		return ErrClosed
	}
	h.checkFiles(ctx)
	before := h.setup()
	next := &setup{Options: before.Options, env: before.env, projectRoot: before.projectRoot, dialects: before.dialects, guest: before.guest}
	next.Files = nil
	if read != nil {
		next.Files = read()
	}
	next.configs.Store(before.configs.Load())
	if err := next.load(); err != nil {
		return err
	}
	h.current.Store(next)
	err := h.replaceRoster(ctx, next.names(), true)
	if err != nil {
		h.current.Store(before)
	}
	return err
}

// outdated reports whether a known plugin must be opened again when everything is read again.
func (s *search) outdated(known *entry, x sighting, now stamp) bool {
	_, ownChanges := known.plugin.(dialect.Reloader)
	return known.plugin == nil || !ownChanges && known.stamp != now || !s.configuredAs(known, x) || !sameServer(known.found, x.found)
}

// configuredAs reports whether the configuration of a plugin equals the one it was opened with.
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

// keepWorking puts back the old plugin if the new one does not work and only its files have
// changed.
func (h *Host) keepWorking(before, now *roster) {
	for i, e := range now.entries {
		old := before.at(e.found)
		if old == nil || old == e || old.plugin == nil || e.plugin != nil || e.state != dialect.Broken || !reflect.DeepEqual(old.own, e.own) {
			continue
		}
		if _, refused := errors.AsType[*trust.Refusal](e.err); refused && old.stamp == e.stamp {
			continue // its files are those of the running plugin, which is no longer trusted
		}
		if _, fleeting := old.plugin.(dialect.Fleeting); fleeting {
			continue // its next call would start the new file
		}
		h.setup().Logger.Warn("plugin goes on as it was: its new files do not work", "plugin", old.info.Name, "dialect", old.found.Dialect, "err", e.err)
		now.entries[i] = old
		now.kept = append(now.kept, keptEntry{old, e.err})
	}
}

// A keptEntry is a plugin that goes on unchanged, because its new files do not work.
type keptEntry struct {
	*entry
	why error
}

func (k keptEntry) finding() Finding {
	return finding(SeverityError, k.entry, k.found.Dialect, dialect.Problem{Path: k.found.Path,
		Message: fmt.Sprintf("its files have changed and do not work, so it goes on as it was: %v", k.why), Fix: "correct it, and reload"})
}

// enter returns the current roster, for an event or call that uses it until [roster.leave].
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

// leave ends the use of a roster by an event or call.
func (r *roster) leave() {
	if r.uses.Add(-1) == 0 && r.retired.Load() {
		select {
		case r.idle <- struct{}{}:
		default: // a value is there already
		}
	}
}

// retire closes the plugins of the old roster that are not in the new one, after the last event
// that uses the old one. If that can be done at once, retire returns the error. A roster retires
// only after all older ones, because an event that entered an older roster may have received hooks
// of a newer one.
func (h *Host) retire(old, now *roster) error {
	old.retired.Store(true)
	previous, done := h.retired, make(chan struct{})
	h.retired = done
	if old.uses.Load() == 0 && isDone(previous) {
		defer close(done)
		return h.closeOld(old, now)
	}
	h.retiring.Go(func() {
		defer close(done)
		if previous != nil {
			<-previous
		}
		h.awaitIdle(old)
		if err := h.closeOld(old, now); err != nil {
			h.setup().Logger.Warn("a plugin was not closed cleanly", "err", err)
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

// awaitIdle waits until no event uses a replaced roster, or the host is closed.
func (h *Host) awaitIdle(r *roster) {
	for r.uses.Load() > 0 {
		select {
		case <-r.idle:
		case <-h.closed:
			return
		}
	}
}

// closeOld closes the plugins that are not in the new roster. Python plugins share an
// interpreter: closing the old copy of one unloads its file for the new copy too, so that file is
// loaded once more.
func (h *Host) closeOld(old, now *roster) error {
	err := h.closeMissing(old, now)
	for _, e := range now.entries {
		p, ok := e.plugin.(dialect.Reloader)
		if before := old.at(e.found); ok && before != nil && before != e && before.plugin != nil {
			err = errors.Join(err, p.Reload(context.Background()))
		}
	}
	return err
}
