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
	"github.com/patchbay-dev/patchbay/internal/program"
	"github.com/patchbay-dev/patchbay/internal/projectfiles"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

// trustCache is the file in the state directory that stores checksums of files.
const trustCache = "trust.json"

// openTrust finds patchbay.lock, which is beside the configuration file in use. A program with its
// own directories has a lock only if its configuration file asks for one: docs/embedding.md.
func (s *setup) openTrust() {
	policy := trust.Policy(cmp.Or(s.config.Trust, config.TrustRecord))
	if s.Dirs != nil && s.config.Trust == "" {
		policy = trust.Off
	}
	s.trust = trust.NewKeeper(trust.Options{Policy: policy, Path: s.dirs.LockFile, Texts: s.dirs.LockTexts, Secrets: s.secretTexts,
		Cache: filepath.Join(s.dirs.State, trustCache), Exempt: s.Exempt, Log: s.Logger})
}

// InstalledFiles returns where `patchbay plugin install` puts the files of a plugin, if the
// directory of its dialect has only a wrapper program that starts it.
func InstalledFiles(d config.Dirs, dialectName, name string) string {
	return filepath.Join(d.Data, "plugins", dialectName, name)
}

// installedOf returns the directory with the installed files of a plugin, or "" if there is none.
func (s *setup) installedOf(b pluginNames) string {
	dir := InstalledFiles(s.dirs, b.dialect, b.place)
	if s.Dirs != nil || strings.ContainsAny(b.place, `/\`) || !filepath.IsLocal(b.place) {
		return ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// tracked returns a plugin in the form that the lock uses. The lock does not cover plugins without
// files, or those that the caller named by path. The plugins of a project are trusted as a whole:
// see package projectfiles.
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

// CapabilitiesOf returns the capabilities that a plugin declares, as they are recorded, or nil if
// it declares none.
func CapabilitiesOf(info *dialect.Info) []string {
	if info == nil || info.Needs == nil {
		return nil
	}
	list := []string{}
	for _, c := range info.Needs {
		list = append(list, c.String())
	}
	for _, c := range info.Capabilities { // the host sets variables; package capability has no kind for them
		if strings.HasPrefix(c, envCapability) {
			list = append(list, c)
		}
	}
	return list
}

// envCapability is the prefix of a variable among the capabilities.
const envCapability = "env:"

// vet checks plugins against the lock before they are started. With trust = "locked", a plugin that
// differs from its record is not started.
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

// warnOfTrust logs the findings of [examineTrust].
func (h *Host) warnOfTrust(e *entry) {
	for _, f := range h.examineTrust(e) {
		h.setup().Logger.Warn(f.Problem, "plugin", e.info.Name, "dialect", e.found.Dialect, "fix", f.Fix, dialect.FindingKey, true)
	}
}

// examineTrust reports a plugin that runs and differs from its record.
func (h *Host) examineTrust(e *entry) []Finding {
	if e.state == dialect.Broken {
		return nil // another finding reports why it is broken
	}
	var findings []Finding
	about := func(problem, fix string) {
		findings = append(findings, Finding{Severity: SeverityWarning, Plugin: e.info.Name, Dialect: e.found.Dialect, Where: e.found.Path, Problem: problem, Fix: fix})
	}
	if v := e.trust; v.Err != nil && v.State != trust.New {
		about(splitFix(v.Err))
	}
	without, with := h.withheld(e)
	if len(without) > 0 {
		about("it wants "+strings.Join(without, ", ")+", which was not granted when it was recorded: it runs without that", "to grant it: patchbay plugin trust "+program.Quote(e.names.place))
	}
	if len(with) > 0 {
		about("it declares "+strings.Join(with, ", ")+", which it did not declare when it was recorded: no sandbox keeps it from using that",
			"if you expected that: patchbay plugin trust "+program.Quote(e.names.place))
	}
	return findings
}

// withheld returns the capabilities that a plugin declares and was not granted when it was
// recorded: those that it runs without, and those that it can use all the same, because it is in no
// sandbox. Those about which the configuration decides are in neither list.
func (h *Host) withheld(e *entry) (without, with []string) {
	confined := h.policyOf(e) != nil && h.system().Possible() == nil
	for _, c := range e.trust.Withheld {
		switch {
		case strings.HasPrefix(c, envCapability), !confined && storageCapability(c), confined && !e.settings.Listed:
			without = append(without, c)
		case !confined:
			with = append(with, c)
		}
	}
	return without, with
}

// storageCapability reports whether the host itself enforces a capability, at every call.
func storageCapability(c string) bool {
	return c == string(capability.StorageRead) || c == string(capability.StorageWrite)
}

// TrustFindings reports how a plugin differs from its record.
func (h *Host) TrustFindings(name string) []Finding {
	e, err := h.find(name)
	if err != nil {
		return nil
	}
	return h.examineTrust(e)
}

// vetter returns a check that runs before a plugin's code is loaded again and, with trust =
// "locked", before each of its processes is started.
func (h *Host) vetter(e *entry) func() error {
	known := "" // what a warning was logged about when the plugin was found
	if e.trust.Err != nil {
		known = e.trust.Err.Error()
	}
	return func() error {
		keeper, plugin := h.setup().trust, h.tracked(e)
		if keeper.Policy() == trust.Locked {
			return keeper.Check(plugin)
		}
		if v := keeper.Judge([]trust.Plugin{plugin})[0]; v.State == trust.Changed && v.Err.Error() != known {
			message, fix := splitFix(v.Err)
			h.setup().Logger.Warn(message, "plugin", e.info.Name, "dialect", e.found.Dialect, "fix", fix)
		}
		return nil
	}
}

// granted returns the capabilities of a list that are not withheld.
func (e *entry) granted(list []capability.Capability) []capability.Capability {
	if len(e.trust.Withheld) == 0 {
		return list
	}
	return slices.DeleteFunc(append([]capability.Capability{}, list...), func(c capability.Capability) bool {
		return slices.Contains(e.trust.Withheld, c.String())
	})
}

// TrustDetail is what patchbay.lock says about a plugin.
type TrustDetail struct {
	File         string         `json:"file" doc:"The lock." example:"/home/mira/.config/patchbay/patchbay.lock"`
	Recorded     *time.Time     `json:"recorded" doc:"When it was recorded; null if it was not." example:"2026-11-16T06:00:19Z"`
	Source       string         `json:"source" doc:"The source of the plugin; may be empty." example:"https://example.org/words.git"`
	Ref          string         `json:"ref" doc:"The branch or tag; may be empty." example:"v1.2.0"`
	Commit       string         `json:"commit" doc:"The commit; may be empty." example:"1f2e3d4c5b6a"`
	Capabilities []string       `json:"capabilities" doc:"The granted capabilities." example:"[\"net:example.org:443\"]"`
	Withheld     []string       `json:"withheld" doc:"Declared capabilities that are not granted." example:"[\"exec:git\"]"`
	Changes      []trust.Change `json:"changes" doc:"Its files that have changed since they were recorded."`
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
	State   trust.State        `json:"state"`   // before the change
	Files   []trust.FileChange `json:"files"`   // without the texts if the plugin is new
	Granted []string           `json:"granted"` // new capabilities
	Dropped []string           `json:"dropped"` // capabilities that it no longer declares
	Lock    string             `json:"lock"`
}

// Trust records a plugin as it is now. With dry, it only returns what that would change. If the
// plugin changes in the meantime, it is not recorded.
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
		return nil, fmt.Errorf("plugin %s: %w", name, trust.ErrNoLock)
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
	if errors.Is(err, trust.ErrChangedSinceShown) {
		return nil, fmt.Errorf("plugin %s is not recorded: %w", name, err)
	}
	return change, err
}

// changeOf compares two entries of a plugin. before may be nil.
func changeOf(book trust.Book, p trust.Plugin, before, now *trust.Entry) (*TrustChange, error) {
	c := &TrustChange{State: trust.Changed}
	if before == nil {
		c.State, before = trust.New, &trust.Entry{}
		for _, f := range trust.Compare(nil, now.Files) { // without texts: there are no old ones to compare with
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

// beyond returns the elements of list that are not in other.
func beyond(list, other []string) []string {
	return slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return slices.Contains(other, s) })
}

// MayWrite returns an error if trust = "locked", because then only code in the lock may run.
func (h *Host) MayWrite(name string) error {
	if h.setup().trust.Policy() != trust.Locked {
		return nil
	}
	return hook.Failure(hook.Unavailable, dialect.WithFix(fmt.Errorf("plugin %s is not saved: trust = %q allows no other code than that in %s",
		name, trust.Locked, h.setup().trust.Path()), "change the file by hand, and trust it: patchbay plugin trust "+program.Quote(name)))
}

// Written records a plugin whose single file the operator has written through this host.
func (h *Host) Written(dialectName, name, path string) error {
	if h.setup().trust.Policy() == trust.Off {
		return nil
	}
	_, err := h.setup().trust.Trust(trust.Plugin{Dialect: dialectName, Name: name, Roots: []trust.Root{{Path: path}}}, nil)
	return err
}

// Deleted removes a plugin from the lock after the operator has deleted its files through this
// host.
func (h *Host) Deleted(dialectName, name string) error {
	return h.setup().trust.Forget(dialectName, name)
}
