package trust

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patchbay-dev/patchbay/internal/filestate"
	"github.com/patchbay-dev/patchbay/internal/program"
)

// A Policy says what is done about plugins that are new or have changed.
type Policy string

// The policies.
const (
	Off    Policy = "off"    // nothing is checked: for a program with its own plugins
	Record Policy = "record" // new plugins are recorded, changed ones cause a warning
	Locked Policy = "locked" // both are refused
)

// A State says how a plugin compares with the lock.
type State string

// The states.
const (
	Untracked  State = ""           // it has no files that could change unnoticed, or there is no lock
	Trusted    State = "trusted"    // its files are the recorded ones
	New        State = "new"        // it was not recorded before; under Record it is now
	Changed    State = "changed"    // its files differ from the recorded ones
	Unreadable State = "unreadable" // its files cannot be hashed, or the lock cannot be written
	Exempt     State = "exempt"     // it is in development
)

// A Plugin is a plugin to judge.
type Plugin struct {
	Dialect      string
	Name         string // the name of its place
	Roots        []Root // the first is its file or directory
	Capabilities []string
}

// A Verdict is the result for one plugin.
type Verdict struct {
	State    State
	Entry    *Entry   // as recorded; nil: it is not recorded
	Changes  []Change // if it has changed
	Withheld []string // capabilities that it declares and that were not granted
	Err      error    // why it cannot be trusted; with Locked, why it must not be started
}

// Options say where the lock is and how strict it is.
type Options struct {
	Policy Policy
	Path   string   // of the lock
	Texts  string   // see [Book]
	Cache  string   // a file that caches sums; "": no cache
	Exempt []string // the paths of plugins that are not judged

	Secrets func() []string // see [Book]
	Log     *slog.Logger
}

// A Keeper judges plugins by a lock. It is safe for concurrent use.
type Keeper struct {
	o     Options
	cache *cache
	first func() error // reads the lock, once

	mu    sync.Mutex // protects the fields below
	lock  *Lock
	state filestate.State // of the lock's file, when it was read
}

// NewKeeper returns a keeper of the lock. [Keeper.Read] reads it.
func NewKeeper(o Options) *Keeper {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	k := &Keeper{o: o, cache: newCache(o.Cache, o.Log)}
	k.first = sync.OnceValue(func() error {
		if o.Policy == Off {
			return nil
		}
		_, err := k.current()
		return err
	})
	return k
}

// Read reads the lock before the first plugin is judged. Further calls return the same result. If
// the lock is damaged later, [Keeper.Judge] refuses each plugin for that reason.
func (k *Keeper) Read() error { return k.first() }

// Policy returns what the keeper was opened with.
func (k *Keeper) Policy() Policy { return k.o.Policy }

// Path returns the path of the lock.
func (k *Keeper) Path() string { return k.o.Path }

// Book returns the lock with its texts.
func (k *Keeper) Book() Book { return Book{Lock: k.o.Path, Texts: k.o.Texts, Secrets: k.o.Secrets} }

// current returns the lock on disk. It reads the file again only if the file has changed.
func (k *Keeper) current() (*Lock, error) {
	var state filestate.State
	if info, err := os.Stat(k.o.Path); err == nil {
		state = filestate.Of(info)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock != nil && state == k.state {
		return k.lock, nil
	}
	l, err := Load(k.o.Path)
	if err != nil {
		return nil, err
	}
	k.lock, k.state = l, state
	return l, nil
}

// Judge checks plugins before they are started. Under Record it records new ones.
func (k *Keeper) Judge(plugins []Plugin) []Verdict {
	verdicts := make([]Verdict, len(plugins))
	if k.o.Policy == Off {
		return verdicts
	}
	l, err := k.current()
	again := false
	for i, p := range plugins {
		verdicts[i] = k.verdict(l, err, p)
		again = again || verdicts[i].State == New || verdicts[i].State == Changed
	}
	if again && err == nil {
		k.judgeAlone(plugins, verdicts)
	}
	k.cache.save()
	return verdicts
}

// judgeAlone judges again while no other process changes the lock or installs a plugin, and records
// new plugins.
func (k *Keeper) judgeAlone(plugins []Plugin, verdicts []Verdict) {
	err := k.Book().Update(func(l *Lock) (changed bool, err error) {
		for i, p := range plugins {
			verdicts[i] = k.verdict(l, nil, p)
			if verdicts[i].State == New && k.o.Policy == Record {
				e, err := NewEntry(p)
				if err != nil {
					verdicts[i] = Verdict{State: Unreadable, Err: k.unreadable(p, err)}
					continue
				}
				l.Put(e)
				k.keepTexts(p, e)
				verdicts[i].Entry, verdicts[i].Err, changed = e, nil, true
				k.o.Log.Info("plugin recorded", "plugin", p.Name, "dialect", p.Dialect, "files", len(e.Files), "lock", k.o.Path)
			}
		}
		return changed, nil
	})
	if err == nil {
		return
	}
	for i := range verdicts {
		if verdicts[i].State == New || verdicts[i].State == Changed {
			verdicts[i].State, verdicts[i].Err = Unreadable, k.unreadable(plugins[i], err) // its capabilities stay withheld
		}
	}
}

// keepTexts stores the texts of a plugin that is being recorded.
func (k *Keeper) keepTexts(p Plugin, e *Entry) {
	if err := k.Book().Keep(p.Roots, e.Files); err != nil {
		k.o.Log.Warn("the plugin is recorded without the texts of its files: a later change cannot be shown line by line", "plugin", p.Name, "err", err)
	}
}

// NewEntry returns an entry for a plugin as it is now.
func NewEntry(p Plugin) (*Entry, error) {
	files, err := Take(p.Roots)
	if err != nil {
		return nil, err
	}
	return &Entry{Dialect: p.Dialect, Name: p.Name, Path: p.Roots[0].Path, Recorded: time.Now().UTC().Truncate(time.Second),
		Capabilities: slices.Clone(p.Capabilities), Files: files}, nil
}

// verdict returns the verdict on one plugin by the lock l. bad is the error of reading the lock; if
// it is not nil, there is no l.
func (k *Keeper) verdict(l *Lock, bad error, p Plugin) Verdict {
	switch {
	case len(p.Roots) == 0:
		return Verdict{}
	case k.exempt(p):
		return Verdict{State: Exempt}
	case bad != nil:
		return Verdict{State: Unreadable, Err: k.unreadable(p, bad), Withheld: k.withheldBefore(p)}
	}
	e := l.Find(p.Dialect, p.Name)
	digest, err := k.digest(p)
	if err != nil {
		return Verdict{State: Unreadable, Entry: e, Err: k.unreadable(p, err), Withheld: withheld(e, p)}
	}
	switch {
	case e == nil:
		return Verdict{State: New, Err: k.unknown(p)}
	case Digest(e.Files) != digest:
		v := Verdict{State: Changed, Entry: e, Withheld: withheld(e, p)}
		if now, err := Take(p.Roots); err == nil {
			v.Changes = Compare(e.Files, now)
		}
		v.Err = k.changed(p, v.Changes)
		return v
	}
	return Verdict{State: Trusted, Entry: e, Withheld: withheld(e, p)}
}

func (k *Keeper) exempt(p Plugin) bool {
	return slices.ContainsFunc(k.o.Exempt, func(path string) bool {
		rel, err := filepath.Rel(path, p.Roots[0].Path)
		return err == nil && (rel == "." || filepath.IsLocal(rel))
	})
}

// minAge is how old the last change of a plugin's files must be before their sum is cached. File
// systems count time in steps of up to two seconds. So a file that has just changed may change
// again without a new time.
const minAge = 2 * time.Second

// digest returns one sum for all files. Under Record it reads the files only if the size, time or
// inode of one of them has changed since they were last read.
func (k *Keeper) digest(p Plugin) (string, error) {
	if k.o.Policy == Locked {
		files, err := Take(p.Roots)
		return Digest(files), err
	}
	stamp, newest, err := stampOf(p.Roots)
	if err != nil {
		return "", err
	}
	key := p.Dialect + ":" + p.Roots[0].Path
	if digest, ok := k.cache.get(key, stamp); ok {
		return digest, nil
	}
	files, err := Take(p.Roots)
	if err != nil {
		return "", err
	}
	digest := Digest(files)
	if time.Since(newest) > minAge {
		k.cache.put(key, stamp, digest)
	}
	return digest, nil
}

// withheld returns the capabilities that a plugin declares and was not granted when it was
// recorded.
func withheld(e *Entry, p Plugin) []string {
	if e == nil {
		return nil
	}
	return Withheld(p.Capabilities, e.Capabilities)
}

// noNetwork is the capability with which a plugin declares that it uses no network. It asks for
// nothing, so it is never withheld.
const noNetwork = "net:[]"

// Withheld returns the declared capabilities that were not granted.
func Withheld(declared, granted []string) []string {
	return slices.DeleteFunc(slices.Clone(declared), func(c string) bool { return c == noNetwork || slices.Contains(granted, c) })
}

// withheldBefore returns the capabilities that a plugin was not granted when the lock could last be
// read. A plugin that was not in it is granted none.
func (k *Keeper) withheldBefore(p Plugin) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock != nil {
		if e := k.lock.Find(p.Dialect, p.Name); e != nil {
			return withheld(e, p)
		}
	}
	return Withheld(p.Capabilities, nil)
}

// Check is called before each process of a plugin is started. Only Locked refuses.
func (k *Keeper) Check(p Plugin) error {
	if k.o.Policy != Locked {
		return nil
	}
	return k.Judge([]Plugin{p})[0].Err
}

// A Refusal says why a plugin is not trusted.
type Refusal struct {
	Plugin string
	why    string
	fix    string
	err    error
}

func (r *Refusal) Error() string { return r.why }

// Fix returns how to trust the plugin.
func (r *Refusal) Fix() string   { return r.fix }
func (r *Refusal) Unwrap() error { return r.err }

func trustFix(p Plugin) string {
	return "if you expected that: patchbay plugin trust " + program.Quote(p.Name)
}

func (k *Keeper) unknown(p Plugin) error {
	return &Refusal{Plugin: p.Name, why: fmt.Sprintf("it is not in %s, and trust = \"locked\"", k.o.Path), fix: trustFix(p)}
}

func (k *Keeper) changed(p Plugin, changes []Change) error {
	return &Refusal{Plugin: p.Name, why: "its files have changed since they were recorded: " + Summary(changes), fix: trustFix(p)}
}

func (k *Keeper) unreadable(p Plugin, err error) error {
	return &Refusal{Plugin: p.Name, why: "its files cannot be compared with the lock: " + err.Error(), err: err,
		fix: "correct the cause, then run `patchbay plugin trust " + program.Quote(p.Name) + "`"}
}

// Summary names the first few changes.
func Summary(changes []Change) string {
	const shown = 3
	var parts []string
	for _, c := range changes[:min(shown, len(changes))] {
		parts = append(parts, c.Kind+" "+c.Path)
	}
	if more := len(changes) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// ErrNoLock is returned for a plugin that the lock cannot contain: it has no files, or the policy
// is [Off].
var ErrNoLock = errors.New("patchbay.lock is not used for it")

// ErrChangedSinceShown is returned for a plugin whose files differ from the shown ones.
var ErrChangedSinceShown = errors.New("its files have changed since they were shown")

// Trust records a plugin as it is now, with all capabilities that it declares. Its origin stays.
// shown are the files that the operator has seen: if the present files differ, the error is
// [ErrChangedSinceShown]. With nil, Trust does not compare them: the operator wrote the files.
func (k *Keeper) Trust(p Plugin, shown []File) (*Entry, error) {
	if k.o.Policy == Off || len(p.Roots) == 0 {
		return nil, ErrNoLock
	}
	var entry *Entry
	err := k.Book().Update(func(l *Lock) (bool, error) {
		e, err := NewEntry(p)
		if err != nil {
			return false, err
		}
		if shown != nil && !slices.Equal(shown, e.Files) {
			return false, ErrChangedSinceShown
		}
		if old := l.Find(p.Dialect, p.Name); old != nil {
			e.Origin = old.Origin
		}
		l.Put(e)
		k.keepTexts(p, e)
		entry = e
		return true, nil
	})
	return entry, err
}

// Forget removes a removed plugin from the lock.
func (k *Keeper) Forget(dialect, name string) error {
	if k.o.Policy == Off {
		return nil
	}
	return k.Book().Update(func(l *Lock) (bool, error) {
		there := l.Find(dialect, name) != nil
		l.Remove(dialect, name)
		return there, nil
	})
}
