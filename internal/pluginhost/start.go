package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// start opens the plugins. If a dialect limits how many may run, a plugin that fails leaves its
// place to the next one. If ctx ends, the roster must not be used.
func (h *Host) start(ctx context.Context, r *roster) {
	found := r.foundIn()
	h.found.Store(&found)
	if h.setup().NoStart {
		return
	}
	examined := make(chan []placeProblem, 1)
	go func() { examined <- h.placeProblems() }() // while the plugins start
	for {
		admitted := r.admitted()
		h.vet(admitted)
		h.openAll(ctx, slices.DeleteFunc(slices.Clone(admitted), func(e *entry) bool { return e.state != "" }), r.names)
		h.refuseTwins(r)
		if len(admitted) == 0 || ctx.Err() != nil {
			break
		}
	}
	problems := <-examined
	if ctx.Err() != nil {
		return // the roster is not used, so a plugin that did not start is no problem
	}
	r.skipSurplus()
	r.learnOwnNames()
	h.wireAbsent(r)
	h.addScripts(r, problems)
	h.logPlaceProblems(r, problems)
}

// openAll opens plugins in parallel, a few at a time: with more, each would wait for the CPU while
// its handshake times out. When openAll returns, the guardian watches their processes.
func (h *Host) openAll(ctx context.Context, entries []*entry, names census) {
	defer h.procs.Together()()
	watch := startWatch{tell: h.setup().OnStarting, now: Starting{All: len(entries)}}
	next := make(chan *entry)
	var started sync.WaitGroup
	for range min(len(entries), 4*runtime.NumCPU()) {
		started.Go(func() {
			for e := range next {
				end := watch.begin(e)
				h.open(ctx, e, names)
				end()
			}
		})
	}
	for _, e := range entries {
		next <- e
	}
	close(next)
	started.Wait()
}

// admitted returns the plugins to open next. For a dialect that limits how many may run, these are
// as many as there are places left, in order.
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

// mostBeside returns how many plugins of its dialect may run; 0: no limit. A plugin whose path the
// caller named does not count.
func (e *entry) mostBeside() int {
	if limited, ok := e.dialect.(dialect.Limited); ok && !e.named {
		return limited.Most()
	}
	return 0
}

// skipSurplus marks the plugins for which there is no place as skipped.
func (r *roster) skipSurplus() {
	for _, e := range r.entries {
		if most := e.mostBeside(); e.state == "" && most > 0 {
			e.state, e.err = dialect.Skipped, dialect.WithFix(fmt.Errorf("%s allows at most %d plugins, and that many are running", e.found.Dialect, most),
				"disable one of them with `patchbay plugin disable NAME`, or remove it")
		}
	}
}

// isSurplus reports whether the plugin was skipped because too many of its dialect are running. A
// dialect with a limit skips a user's own plugin for no other reason.
func (e *entry) isSurplus() bool {
	return e.state == dialect.Skipped && e.hidden == "" && e.mostBeside() > 0
}

// open starts one plugin. No other goroutine uses the entry meanwhile.
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
		err = h.unrunnable(e, h.setup().withPlaces(e.names, err))
		e.fail(h.suggestCapabilities(e, err))
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

// unrunnable adds the cause and its fix to the error of a plugin that is a single program, if the
// program's interpreter is missing. The start alone does not show that: if the first line of the
// file names env, then env is started, and fails because it does not find the interpreter. A file
// without the executable bit is not a program: the interpreter of its dialect loads it.
func (h *Host) unrunnable(e *entry, err error) error {
	if !errors.Is(err, hook.Crash) || !dialect.Executable(e.found.Path) {
		return err
	}
	if start := program.Uninterpreted(e.found.Path, h.setup().Environ); start != nil {
		return dialect.WithFix(fmt.Errorf("%s: %w", start.Why, err), start.Fix)
	}
	return err
}

// problemsOf returns the lines of a plugin's file that an error is about, if it knows them.
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

// rename applies the settings for the name that a plugin calls itself.
func (h *Host) rename(e *entry, called string, names census) {
	e.names.called = called
	h.configure(e, names)
	if err := h.sameBounds(e); err != nil && e.state == dialect.Ready {
		e.fail(err)
	}
	if e.state != dialect.Ready {
		h.closeRefused(e)
	}
}

// learnOwnNames adds the names that the opened plugins call themselves to the names of the roster.
func (r *roster) learnOwnNames() {
	names := slices.Clone(r.names) // other goroutines may be reading the old slice
	for i := range names {
		for _, e := range r.entries {
			if e.names.isSame(names[i]) {
				names[i] = e.names
			}
		}
	}
	r.names = names
}

// refuseTwins refuses the second of two ready plugins with the same name in one dialect, because
// their tools and settings could not be distinguished. The plugin whose directory or file has the
// name keeps it; otherwise the plugin that was there first does.
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

// NameTaken returns the path of another plugin with the name, in the same directory as the plugin
// at path; "": there is none. Only one of the two can be used. The plugin whose file or directory
// has the name keeps it. Plugins in other directories do not count, because one of them may be the
// author's own copy of an installed plugin.
func (h *Host) NameTaken(path, name string) string {
	names := h.roster().names
	i := slices.IndexFunc(names, func(b pluginNames) bool { return b.path == path })
	if i < 0 || names[i].place == name {
		return ""
	}
	own := names[i]
	for _, o := range names {
		beside := o.dialect == own.dialect && !o.isSame(own) && filepath.Dir(o.path) == filepath.Dir(own.path)
		if beside && (o.place == name || o.called == name) {
			return o.path
		}
	}
	return ""
}

// rivals returns the plugins among which a name must be unique.
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
	fix := "rename its file or folder"
	if e.names.place != e.info.Name { // the plugin says its name itself
		fix = fmt.Sprintf("let one of them call itself something other than %q: its name is in its code or its manifest", e.info.Name)
	}
	e.fail(dialect.WithFix(fmt.Errorf("the name %s is taken by %s", e.info.Name, owner), fix))
	h.closeRefused(e)
}

// closeRefused closes a plugin that was opened and then refused.
func (h *Host) closeRefused(e *entry) {
	if err := e.end(); err != nil {
		h.setup().Logger.Warn("plugin was not closed cleanly", "plugin", e.info.Name, "dialect", e.found.Dialect, "err", err)
	}
	e.plugin = nil
}
