package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/plugininstall"
	"github.com/patchbay-dev/patchbay/internal/trust"
)

func newPluginUpdateCommand(a *app) *cobra.Command {
	var opts installOptions
	cmd := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Update plugins from the sources they were installed from",
		Long: `Fetch plugins again from the sources recorded in patchbay.lock, and replace the
plugins that have changed. Without names, update all plugins that were installed
with ` + "`patchbay plugin install`" + `. An update grants no new capabilities: use
` + "`patchbay plugin trust`" + ` for that. A plugin that you have changed stays as it
is, unless you add --force. --dry-run shows the changes as a diff.`,
		Example: `  patchbay plugin update
  patchbay plugin update shout
  patchbay plugin update --dry-run`,
		Annotations: exits(exit{exitOK, "the plugins are up to date"}, exit{exitFailed, "a plugin could not be updated; all others were updated"},
			exit{exitNotFound, "no such plugin, or it was not installed with `patchbay plugin install`"}),
		ValidArgsFunction: a.completeNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.runPluginUpdate(cmd.Context(), args, opts) },
	}
	cmd.Flags().BoolVar(&opts.force, "force", false, "also replace plugins that you have changed")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "show what would change, and write nothing")
	return cmd
}

func (a *app) runPluginUpdate(ctx context.Context, names []string, opts installOptions) error {
	o, err := a.sourceOptions()
	if err != nil {
		return err
	}
	lock, err := trust.Load(o.Dirs.LockFile)
	if err != nil {
		return err
	}
	entries, err := installedEntries(lock, a.namesInLock(ctx, lock, names))
	if err != nil {
		return err
	}
	placed := []*plugininstall.Placed{}
	var errs []error
	for _, e := range entries {
		done, err := a.update(ctx, o, e, opts)
		if err != nil {
			errs = append(errs, fmt.Errorf("plugin %s: %w", e.Name, err))
			continue
		}
		placed = append(placed, done)
	}
	if len(entries) == 0 && !a.flags.json {
		a.sayf("No plugin was installed with `patchbay plugin install`.\n")
	}
	if len(placed) == 0 && a.flags.json && len(errs) == 0 {
		return a.printJSON(placed)
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(&problem{kind: kindFailed, err: err, fix: fixOf(err)}, a.finish(ctx, placed))
	}
	return a.finish(ctx, placed)
}

// namesInLock returns the names that the lock has for these plugins: those of their files or
// directories. A plugin may give itself another name, which the user may have typed.
func (a *app) namesInLock(ctx context.Context, lock *trust.Lock, names []string) []string {
	names = slices.Clone(names)
	for i, name := range names {
		if slices.ContainsFunc(lock.Entries, func(e *trust.Entry) bool { return name == e.Name || name == e.Dialect+":"+e.Name }) {
			continue
		}
		if p, err := a.findInstalled(ctx, name); err == nil { // otherwise the name is reported as unknown
			names[i] = p.Dialect + ":" + p.Place
		}
	}
	return names
}

// installedEntries returns the lock entries with a source, of all plugins or of the named ones.
func installedEntries(lock *trust.Lock, names []string) ([]*trust.Entry, error) {
	var entries []*trust.Entry
	var known []string
	for _, e := range lock.Entries {
		if e.Origin.Source == "" {
			continue
		}
		known = append(known, e.Name)
		if len(names) == 0 || slices.Contains(names, e.Name) || slices.Contains(names, e.Dialect+":"+e.Name) {
			entries = append(entries, e)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(entries, func(e *trust.Entry) bool { return name == e.Name || name == e.Dialect+":"+e.Name }) {
			return nil, &problem{kind: kindNotFound, err: fmt.Errorf("plugin %s was not installed with `patchbay plugin install`", name),
				fix: suggestName(name, known, "`patchbay plugin list` lists the plugins; to install one from its source: patchbay plugin install SOURCE")}
		}
	}
	return entries, nil
}

func (a *app) update(ctx context.Context, o plugininstall.Options, e *trust.Entry, opts installOptions) (*plugininstall.Placed, error) {
	text := e.Origin.Source
	if e.Origin.Ref != "" {
		text += "@" + e.Origin.Ref
	}
	source, err := plugininstall.ParseSource(text, a.dir())
	if err != nil {
		return nil, &problem{kind: kindFailed, err: err, fix: "install it from its new source, with --force to replace the installed one"}
	}
	o.Dialects = []string{e.Dialect}
	fetched, err := plugininstall.Fetch(ctx, source, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := fetched.Close(); err != nil {
			a.logger().Warn("cannot remove the fetched files", "err", err)
		}
	}()
	found := fetched.Meant(e.Dialect + ":" + e.Name)
	if len(found) != 1 {
		return nil, &problem{kind: kindFailed, err: fmt.Errorf("%s has no such plugin any more", text), fix: insteadOf(e, fetched, text)}
	}
	return fetched.Place(ctx, found[0], plugininstall.PlaceOptions{DryRun: opts.dryRun, Force: opts.force, Update: true})
}

// insteadOf returns how to replace a plugin that its source no longer has. Until then the installed
// one stays.
func insteadOf(e *trust.Entry, f *plugininstall.Fetched, source string) string {
	if len(f.Plugins) == 0 {
		return "the installed plugin stays as it is; install it from another source, or remove it"
	}
	return fmt.Sprintf("it has %s now: `patchbay plugin remove %s:%s`, then `patchbay plugin install %s`", strings.Join(ids(f.Plugins), ", "), e.Dialect, e.Name, source)
}
