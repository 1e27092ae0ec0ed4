package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// start opens the plugins. Where a dialect has places for a few, those that do not work leave
// theirs to the next ones.
func (h *Host) start(ctx context.Context, r *roster) {
	found := r.foundIn()
	h.found.Store(&found)
	if h.setup().NoStart {
		return
	}
	for {
		admitted := r.admitted()
		h.vet(admitted)
		h.openAll(ctx, slices.DeleteFunc(slices.Clone(admitted), func(e *entry) bool { return e.state != "" }), r.names)
		h.refuseTwins(r)
		if len(admitted) == 0 || ctx.Err() != nil {
			break
		}
	}
	r.skipSurplus()
	r.relearn()
	h.standIn(r)
}

// openAll opens plugins side by side, a few at a time: more would only make them wait for each
// other's processor while their handshake clock runs. When it returns, they are guarded.
func (h *Host) openAll(ctx context.Context, entries []*entry, names census) {
	defer h.procs.Together()()
	places := make(chan struct{}, 4*runtime.NumCPU())
	watch := startWatch{tell: h.setup().OnStarting, now: Starting{All: len(entries)}}
	var started sync.WaitGroup
	for _, e := range entries {
		started.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			defer watch.begin(e)()
			h.open(ctx, e, names)
		})
	}
	started.Wait()
}

// admitted are the plugins that are to be opened next: of a dialect that runs a few at a time, as
// many as there are places left, in order.
func (r *roster) admitted() []*entry {
	taken := make(map[dialect.Dialect]int)
	for _, e := range r.entries {
		if e.plugin != nil && !e.named {
			taken[e.dialect]++
		}
	}
	var admitted []*entry
	for _, e := range r.entries {
		if e.state != "" {
			continue
		}
		if most := e.mostBeside(); most == 0 || taken[e.dialect] < most {
			taken[e.dialect]++
			admitted = append(admitted, e)
		}
	}
	return admitted
}

// mostBeside is how many plugins of its kind may run; 0: as many as there are. A plugin whose path
// was named takes no place.
func (e *entry) mostBeside() int {
	if limited, ok := e.dialect.(dialect.Limited); ok && !e.named {
		return limited.Most()
	}
	return 0
}

// skipSurplus says of the plugins for which there is no place why they do not run.
func (r *roster) skipSurplus() {
	for _, e := range r.entries {
		if most := e.mostBeside(); e.state == "" && most > 0 {
			e.state, e.err = dialect.Skipped, fmt.Errorf("%d plugins are the most %s allows, and so many are running: "+
				"remove one of them, or disable it with enabled = false in its [plugins.NAME]", most, e.found.Dialect)
		}
	}
}

// open starts one plugin. Only this goroutine touches the entry meanwhile.
func (h *Host) open(ctx context.Context, e *entry, names census) {
	log := h.setup().Logger.With("plugin", e.found.Name, "dialect", e.found.Dialect)
	began := time.Now()
	rt := h.runtimeOf(e, names, log)
	if err := h.confine(e, rt); err != nil {
		e.fail(err)
		return
	}
	plugin, err := e.dialect.Open(ctx, e.found, e.settings, rt)
	if errors.Is(err, dialect.ErrUnsupported) {
		e.state, e.err = dialect.Unsupported, err
		return
	}
	if err != nil {
		err = h.unrunnable(e, h.setup().placed(e.names, err))
		e.fail(h.lacking(e, err))
		e.found.Problems = append(e.found.Problems, problemsOf(err)...)
		return
	}
	e.plugin, e.info, e.state = plugin, plugin.Info(), dialect.Ready
	e.tally.join(plugin)
	log.Debug("plugin ready", "name", e.info.Name, "dur", time.Since(began))
	if called := cmp.Or(e.info.Called, e.info.Name); called != cmp.Or(e.names.called, e.names.place) {
		h.rename(e, called, names)
	}
}

// unrunnable adds to the error of a plugin that is one file what keeps that file from running, such
// as an interpreter that is not installed. Where env starts the interpreter, the file starts, and
// env fails.
func (h *Host) unrunnable(e *entry, err error) error {
	info, statErr := os.Stat(e.found.Path)
	if !errors.Is(err, hook.Crash) || statErr != nil || !info.Mode().IsRegular() {
		return err
	}
	return dialect.WithFix(err, program.Diagnose(e.found.Path, h.setup().Environ, nil).Fix)
}

// problemsOf are the lines of a plugin's file that an error is about, where it knows them.
func problemsOf(err error) []dialect.Problem {
	var located interface {
		error
		Problems() []dialect.Problem
	}
	if errors.As(err, &located) {
		return located.Problems()
	}
	return nil
}

// rename applies the configuration under the name that a plugin calls itself.
func (h *Host) rename(e *entry, called string, names census) {
	e.names.called = called
	h.configure(e, names)
	if err := h.sameBounds(e); err != nil && e.state == dialect.Ready {
		e.fail(err)
	}
	if e.state != dialect.Ready {
		h.dismiss(e)
	}
}

// relearn adds to the names of all plugins what those that were opened call themselves.
func (r *roster) relearn() {
	names := slices.Clone(r.names) // others may be reading the old ones
	for i := range names {
		for _, e := range r.entries {
			if e.names.is(names[i]) {
				names[i] = e.names
			}
		}
	}
	r.names = names
}

// refuseTwins leaves out the second of two ready plugins with one name in one dialect: their tools
// and settings could not be told apart. The name of a plugin keeps the name of its directory or
// file even if another plugin claims it; otherwise one that was there before the others is the
// first.
func (h *Host) refuseTwins(r *roster) {
	type key struct{ dialect, name string }
	first := make(map[key]*entry)
	for _, e := range h.roster().entries {
		if e.state == dialect.Ready && e.found.Project == "" && slices.Contains(r.entries, e) {
			first[key{e.found.Dialect, e.info.Name}] = e
		}
	}
	for _, e := range r.entries {
		if e.state != dialect.Ready {
			continue
		}
		k := key{e.found.Dialect, e.info.Name}
		if owner, taken := r.rivals().claimed(e.info.Name, e.names); taken {
			h.refuseTwin(e, owner.path)
		} else if twin := first[k]; twin != nil && twin != e {
			h.refuseTwin(e, twin.found.Path)
		} else {
			first[k] = e
		}
	}
}

// rivals are those among whom a name is to be had once.
func (r *roster) rivals() census {
	if !r.closed {
		return r.names
	}
	var names census
	for _, e := range r.entries {
		names = append(names, e.names)
	}
	return names
}

func (h *Host) refuseTwin(e *entry, owner string) {
	e.fail(dialect.WithFix(fmt.Errorf("the name %s is taken by %s", e.info.Name, owner), "rename one of them"))
	h.dismiss(e)
}

// dismiss ends a plugin that was opened only to learn that it is not wanted.
func (h *Host) dismiss(e *entry) {
	if err := e.end(); err != nil {
		h.setup().Logger.Warn("plugin did not end well", "plugin", e.info.Name, "dialect", e.found.Dialect, "err", err)
	}
	e.plugin = nil
}
