package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/render"
)

// configuration implements [httpapi.Configuration]: the changes of config.toml that are allowed
// over HTTP.
type configuration struct{ *Core }

func (c configuration) Change(ctx context.Context, r httpapi.ConfigRequest) (httpapi.ConfigResult, error) {
	changes := make([]pluginhost.ConfigChange, 0, len(r.Changes))
	for _, one := range r.Changes {
		changes = append(changes, pluginhost.ConfigChange(one))
	}
	if r.Preview {
		edit, err := c.Host.PreviewConfig(changes)
		if err != nil {
			return httpapi.ConfigResult{}, changeError(err)
		}
		return c.result(edit), nil
	}
	edit, err := c.apply(context.WithoutCancel(ctx), changes, r.Base) // a client that disconnects must not leave half a change
	if err != nil {
		return httpapi.ConfigResult{}, changeError(err)
	}
	result := c.result(edit)
	if result.Applied = edit.Written; result.Applied {
		c.post("config.changed", "", map[string]any{"file": edit.File, "plugins": pluginsOf(changes)})
	}
	return result, nil
}

// apply writes the file and reloads. If the reload fails, apply restores the file and reloads once
// more. If the daemon ends meanwhile, the change stays: the next daemon reads it.
func (c configuration) apply(ctx context.Context, changes []pluginhost.ConfigChange, base string) (*pluginhost.ConfigEdit, error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	edit, err := c.Host.ChangeConfig(changes, base)
	if err != nil || !edit.Written {
		return edit, err
	}
	err = c.Reload(ctx)
	if err == nil || errors.Is(err, pluginhost.ErrClosed) {
		return edit, nil
	}
	if undo := edit.Undo(); undo != nil {
		return nil, &httpapi.UnavailableError{Reason: fmt.Sprintf("The daemon cannot work with the change: %v. The file could not be restored: %v", err, undo)}
	}
	if again := c.Reload(ctx); again != nil { // if this succeeds, the health shows no failure
		c.log.Warn("the restored configuration cannot be loaded either", "err", again)
	}
	return nil, &httpapi.UnavailableError{Reason: "The daemon cannot work with the change, which was undone: " + err.Error()}
}

func (c configuration) result(e *pluginhost.ConfigEdit) httpapi.ConfigResult {
	return httpapi.ConfigResult{File: e.File, Base: e.Base(), Diff: c.Host.Hidden().Clean(c.shownDiff(e))}
}

func pluginsOf(changes []pluginhost.ConfigChange) []string {
	var names []string
	for _, one := range changes {
		if !slices.Contains(names, one.Plugin) {
			names = append(names, one.Plugin)
		}
	}
	return names
}

// changeError translates an error to one that the routes know.
func changeError(err error) error {
	switch {
	case errors.Is(err, pluginhost.ErrBase), errors.Is(err, editfile.ErrChanged):
		return fmt.Errorf("%w: %w", httpapi.ErrFileChanged, err)
	case errors.Is(err, pluginhost.ErrBadChange), errors.Is(err, pluginhost.ErrNotFound), errors.Is(err, pluginhost.ErrAmbiguous):
		return &httpapi.UnprocessableError{Reason: err.Error()}
	}
	return reloadError(err)
}

// shownDiff returns the diff of a change with its secrets hidden. A secret that changes is marked
// as new.
func (c configuration) shownDiff(e *pluginhost.ConfigEdit) string {
	before := make(map[string]bool) // each secret of the old file, with its path
	note := func(path []string, value string) string {
		before[strings.Join(path, "\x00")+"\x00"+value] = true
		return `"` + config.Hidden + `"`
	}
	compare := func(path []string, value string) string {
		if before[strings.Join(path, "\x00")+"\x00"+value] {
			return `"` + config.Hidden + `"`
		}
		return `"` + config.Hidden + ` (new)"`
	}
	diff := render.Unified(c.masked(e.Old, note), c.masked(e.New, compare))
	if diff == "" {
		return ""
	}
	name := filepath.Base(e.File)
	return fmt.Sprintf("--- %s\n+++ %s\n%s", name, name, diff)
}

// masked returns a text of config.toml with its secrets hidden.
func (c configuration) masked(text []byte, hide func(path []string, value string) string) string {
	shown := editfile.MaskTOML(text, func(path []string, value string) string {
		if config.Private(path, plainValue(value)) || c.Host.DeclaredSecret(path) {
			return hide(path, value)
		}
		return ""
	})
	lines := strings.Split(string(shown), "\n")
	for i, line := range lines {
		lines[i] = maskedComment(line)
	}
	return strings.Join(lines, "\n")
}

// maskedComment hides a comment that looks like a secret: "# password: x" or "#token = x".
func maskedComment(line string) string {
	before, comment, ok := strings.Cut(line, "#")
	if !ok || !config.Private([]string{"plugins", "", "config", comment}, "x") {
		return line
	}
	return before + "# " + config.Hidden
}

// plainValue returns the decoded form of a TOML value. If the text cannot be decoded, the result
// counts as a secret, to be safe.
func plainValue(text string) any {
	top, err := document.TOML("value", []byte("x = "+text))
	if err != nil {
		return make(chan int) // cannot be encoded, and is therefore private
	}
	return top.Self.Get("x").Plain()
}
