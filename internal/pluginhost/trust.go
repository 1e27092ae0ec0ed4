package pluginhost

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// trustCache is the file in the state directory that remembers what was hashed.
const trustCache = "trust.json"

// openTrust reads patchbay.lock, which is beside the configuration file in force. A program with
// directories of its own has a lock only where its configuration file says so: docs/embedding.md.
func (s *setup) openTrust() (err error) {
	policy := trust.Policy(cmp.Or(s.config.Trust, config.TrustRecord))
	if s.Dirs != nil && s.config.Trust == "" {
		policy = trust.Off
	}
	s.trust, err = trust.Open(trust.Options{Policy: policy, Path: s.dirs.LockFile, Texts: s.dirs.LockTexts, Secrets: s.secretTexts,
		Cache: filepath.Join(s.dirs.State, trustCache), Exempt: s.Exempt, Log: s.Logger})
	return err
}

// InstalledFiles is where `patchbay plugin install` keeps the files of a plugin of whose dialect's
// directory only a small program leads to them.
func InstalledFiles(d config.Dirs, dialectName, name string) string {
	return filepath.Join(d.Data, "plugins", dialectName, name)
}

// installedOf are the installed files of a plugin; "" where it has none.
func (s *setup) installedOf(b bearer) string {
	dir := InstalledFiles(s.dirs, b.dialect, b.place)
	if s.Dirs != nil || strings.ContainsAny(b.place, `/\`) || !filepath.IsLocal(b.place) {
		return ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// tracked is a plugin as the lock knows it. One without files of its own, or that the caller named
// by its path, is none of the lock's. The plugins of a project are trusted as a whole: see package
// projectfiles.
func (h *Host) tracked(e *entry) trust.Plugin {
	p := trust.Plugin{Dialect: e.found.Dialect, Name: e.names.place}
	if !filepath.IsAbs(e.found.Path) || e.found.Project != "" || e.named && h.setup().Dirs == nil {
		return p
	}
	p.Roots = []trust.Root{{Path: e.found.Path}}
	if dir := h.setup().installedOf(e.names); dir != "" {
		p.Roots = append(p.Roots, trust.Root{Label: "installed:", Path: dir})
	}
	p.Capabilities = CapabilitiesOf(e.found.Info)
	return p
}

// CapabilitiesOf are the capabilities that a plugin declares, as they are recorded; nil where it
// declares none at all.
func CapabilitiesOf(info *dialect.Info) []string {
	if info == nil || info.Needs == nil {
		return nil
	}
	list := []string{}
	for _, c := range info.Needs {
		list = append(list, c.String())
	}
	for _, c := range info.Capabilities { // variables are given by the host, which has no capability for them
		if strings.HasPrefix(c, envCapability) {
			list = append(list, c)
		}
	}
	return list
}

// envCapability begins the name of a variable among the capabilities.
const envCapability = "env:"

// vet holds plugins against the lock before they are started. Under trust = "locked" those that are
// not as recorded are not started.
func (h *Host) vet(entries []*entry) {
	keeper := h.setup().trust
	plugins := make([]trust.Plugin, len(entries))
	for i, e := range entries {
		plugins[i] = h.tracked(e)
	}
	for i, v := range keeper.Judge(plugins) {
		e := entries[i]
		e.trust, e.settings.Withheld = v, v.Withheld
		if e.found.Project != "" {
			e.trust = h.setup().projectTrust()
		}
		if v.Err != nil && keeper.Policy() == trust.Locked {
			e.fail(v.Err)
			continue
		}
		h.warnOfTrust(e)
	}
}

// warnOfTrust says in the log what [examineTrust] finds.
func (h *Host) warnOfTrust(e *entry) {
	for _, f := range examineTrust(e) {
		h.setup().Logger.Warn(f.Problem, "plugin", e.info.Name, "dialect", e.found.Dialect, "fix", f.Fix, dialect.FindingKey, true)
	}
}

// examineTrust reports a plugin that runs and is not as it was recorded.
func examineTrust(e *entry) []Finding {
	if e.state == dialect.Broken {
		return nil // that is why, or it does not matter
	}
	var findings []Finding
	about := func(problem, fix string) {
		findings = append(findings, Finding{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect, Where: e.found.Path, Problem: problem, Fix: fix})
	}
	if v := e.trust; v.Err != nil && v.State != trust.New {
		about(apart(v.Err))
	}
	if w := e.trust.Withheld; len(w) > 0 {
		about("it wants "+strings.Join(w, ", ")+", which was not granted when it was recorded: it runs without", "if you grant it: patchbay plugin trust "+e.names.place)
	}
	return findings
}

// vetter is asked before a plugin's code is loaded again, and under trust = "locked" before each of
// its processes is started.
func (h *Host) vetter(e *entry) func() error {
	return func() error {
		keeper, plugin := h.setup().trust, h.tracked(e)
		if keeper.Policy() == trust.Locked {
			return keeper.Check(plugin)
		}
		if v := keeper.Judge([]trust.Plugin{plugin})[0]; v.State == trust.Changed {
			message, fix := apart(v.Err)
			h.setup().Logger.Warn(message, "plugin", e.info.Name, "dialect", e.found.Dialect, "fix", fix)
		}
		return nil
	}
}

// granted are the capabilities of a list that were not withheld.
func (e *entry) granted(list []capability.Capability) []capability.Capability {
	if len(e.trust.Withheld) == 0 {
		return list
	}
	return slices.DeleteFunc(append([]capability.Capability{}, list...), func(c capability.Capability) bool {
		return slices.Contains(e.trust.Withheld, c.String())
	})
}

// TrustDetail is how a plugin stands to patchbay.lock.
type TrustDetail struct {
	File         string         `json:"file"` // the lock
	Recorded     *time.Time     `json:"recorded"`
	Source       string         `json:"source"`
	Ref          string         `json:"ref"`
	Commit       string         `json:"commit"`
	Capabilities []string       `json:"capabilities"` // as granted
	Withheld     []string       `json:"withheld"`     // declared, and not granted
	Changes      []trust.Change `json:"changes"`      // of its files
}

func (h *Host) trustDetail(e *entry) TrustDetail {
	d := TrustDetail{File: h.setup().trust.Path(), Capabilities: []string{}, Withheld: orEmpty(e.trust.Withheld), Changes: orEmpty(e.trust.Changes)}
	if e.found.Project != "" {
		d.File = projectfiles.In(h.setup().dirs).File()
	}
	if entry := e.trust.Entry; entry != nil {
		d.Recorded, d.Source, d.Ref, d.Commit = &entry.Recorded, entry.Origin.Source, entry.Origin.Ref, entry.Origin.Commit
		d.Capabilities = orEmpty(entry.Capabilities)
	}
	return d
}

// A TrustChange is what `patchbay plugin trust` would record.
type TrustChange struct {
	Plugin  string             `json:"plugin"`
	Dialect string             `json:"dialect"`
	State   trust.State        `json:"state"`   // before
	Files   []trust.FileChange `json:"files"`   // without texts where the plugin is new
	Granted []string           `json:"granted"` // capabilities that are new
	Dropped []string           `json:"dropped"` // capabilities that it no longer declares
	Lock    string             `json:"lock"`
}

// Trust records a plugin as it is now, or with dry only says what that would change. What it says
// is what is recorded: a plugin that changes meanwhile is not.
func (h *Host) Trust(name string, dry bool) (*TrustChange, error) {
	e, err := h.find(name)
	if err != nil {
		return nil, err
	}
	if e.found.Project != "" {
		return nil, dialect.WithFix(fmt.Errorf("plugin %s: %w: %s", name, ErrOfProject, e.found.Project), projectFix(e.found.Project))
	}
	keeper, plugin := h.setup().trust, h.tracked(e)
	if keeper.Policy() == trust.Off || len(plugin.Roots) == 0 {
		return nil, fmt.Errorf("plugin %s: %w", name, trust.ErrNotKept)
	}
	lock, err := trust.Load(keeper.Path())
	if err != nil {
		return nil, err
	}
	now, err := trust.NewEntry(plugin)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	change, err := changeOf(keeper.Book(), plugin, lock.Find(plugin.Dialect, plugin.Name), now)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", name, err)
	}
	change.Plugin, change.Dialect, change.Lock = e.info.Name, e.found.Dialect, keeper.Path()
	if !dry && change.State != trust.Trusted {
		_, err = keeper.Trust(plugin, now.Files)
	}
	if errors.Is(err, trust.ErrMoved) {
		return nil, fmt.Errorf("plugin %s is not recorded: %w", name, err)
	}
	return change, err
}

// changeOf compares two entries of a plugin; the first may be missing.
func changeOf(book trust.Book, p trust.Plugin, before, now *trust.Entry) (*TrustChange, error) {
	c := &TrustChange{State: trust.Changed}
	if before == nil {
		c.State, before = trust.New, &trust.Entry{}
		for _, f := range trust.Compare(nil, now.Files) { // there is nothing to compare its texts with
			c.Files = append(c.Files, trust.FileChange{Change: f})
		}
	} else {
		var err error
		if c.Files, err = book.Explain(before, p.Roots, now.Files); err != nil {
			return nil, err
		}
	}
	c.Granted, c.Dropped = beyond(now.Capabilities, before.Capabilities), beyond(before.Capabilities, now.Capabilities)
	if c.State == trust.Changed && len(c.Files)+len(c.Granted)+len(c.Dropped) == 0 {
		c.State = trust.Trusted
	}
	return c, nil
}

// beyond are those of list that are not in other.
func beyond(list, other []string) []string {
	return slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return slices.Contains(other, s) })
}

// MayWrite refuses to write a plugin's file where only what is in the lock may run.
func (h *Host) MayWrite(name string) error {
	if h.setup().trust.Policy() != trust.Locked {
		return nil
	}
	return hook.Failure(hook.Unavailable, dialect.WithFix(fmt.Errorf("plugin %s is not saved: trust = %q allows no other code than that in %s",
		name, trust.Locked, h.setup().trust.Path()), "change the file by hand, and trust it: patchbay plugin trust "+name))
}

// Written records a plugin whose one file the operator has written through this host.
func (h *Host) Written(dialectName, name, path string) error {
	if h.setup().trust.Policy() == trust.Off {
		return nil
	}
	_, err := h.setup().trust.Trust(trust.Plugin{Dialect: dialectName, Name: name, Roots: []trust.Root{{Path: path}}}, nil)
	return err
}

// Deleted takes a plugin whose files the operator has deleted through this host out of the lock.
func (h *Host) Deleted(dialectName, name string) error {
	return h.setup().trust.Forget(dialectName, name)
}
