package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// plugins implements [httpapi.Plugins]: actions on one plugin.
type plugins struct{ *Core }

func (p plugins) CallMethod(ctx context.Context, name, method string, params json.RawMessage) (json.RawMessage, error) {
	detail, err := p.Host.Plugin(name)
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return nil, httpapi.ErrNoPlugin
	case err != nil:
		return nil, &httpapi.InvalidRequestError{Reason: err.Error()} // two dialects have a plugin of this name
	case len(detail.Methods) == 0:
		return nil, fmt.Errorf("%w; it has none", httpapi.ErrNoMethod)
	case !slices.Contains(detail.Methods, method):
		return nil, fmt.Errorf("%w; it has %s", httpapi.ErrNoMethod, excerpt.Of(strings.Join(detail.Methods, ", "), 400))
	}
	return p.Host.CallMethod(ctx, name, method, params)
}

func (p plugins) SetKnob(ctx context.Context, name string, s httpapi.KnobSetting) (any, error) {
	if _, err := p.Host.Plugin(name); errors.Is(err, pluginhost.ErrNotFound) {
		return nil, httpapi.ErrNoPlugin
	}
	change, err := p.Host.SetKnob(ctx, name, pluginhost.KnobSetting(s))
	if change != nil && change.Changed {
		if !s.Project {
			p.reconfigureElsewhere(ctx, name)
		}
		p.post("plugin.configured", "", map[string]any{"plugin": change.Plugin, "knob": s.Key, "file": change.File, "restarted": change.Restarted})
	}
	if err != nil {
		return nil, knobError(err)
	}
	return change, nil
}

// reconfigureElsewhere gives a plugin its new config in the other projects where it runs.
func (p plugins) reconfigureElsewhere(ctx context.Context, name string) {
	p.projects.each(ctx, "configuration", func(ctx context.Context, host *pluginhost.Host) error {
		_, err := host.Reconfigure(ctx, name)
		return err
	})
}

// knobError translates an error to one that the routes know.
func knobError(err error) error {
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return httpapi.ErrNoKnob
	case errors.Is(err, editfile.ErrChanged):
		return fmt.Errorf("%w: %w", httpapi.ErrFileChanged, err)
	case errors.Is(err, pluginhost.ErrBadValue), errors.Is(err, editfile.ErrPath), errors.Is(err, pluginhost.ErrAmbiguous):
		return &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	return reloadError(err)
}

func (p plugins) Reload(ctx context.Context, name string) (bool, error) {
	restarted, err := p.Host.Reconfigure(ctx, name)
	if err == nil {
		p.reconfigureElsewhere(ctx, name)
	}
	return restarted, repairError(err)
}

func (p plugins) Restart(ctx context.Context, name string) error {
	err := p.Host.Restart(ctx, name)
	if err == nil {
		p.projects.each(ctx, "restart", func(ctx context.Context, host *pluginhost.Host) error { return host.Restart(ctx, name) })
	}
	return repairError(err)
}

func (p plugins) MakeExecutable(ctx context.Context, name string) error {
	return repairError(p.Host.MakeExecutable(ctx, name))
}

// repairError translates an error to one that the routes know.
func repairError(err error) error {
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return httpapi.ErrNoPlugin
	case errors.Is(err, pluginhost.ErrNotNow):
		return fmt.Errorf("%w: %w", httpapi.ErrNotNow, err)
	case errors.Is(err, pluginhost.ErrAmbiguous):
		return &httpapi.InvalidRequestError{Reason: err.Error()}
	}
	return reloadError(err)
}

func (p plugins) ReloadAll(ctx context.Context) error {
	if err := p.Core.Reload(context.WithoutCancel(ctx)); err != nil { // a client that disconnects must not interrupt the reload
		return &httpapi.UnavailableError{Reason: err.Error()}
	}
	return nil
}

// reloadError translates an error about a file or a plugin to one that the routes know.
func reloadError(err error) error {
	if wrong, ok := errors.AsType[*config.Error](err); ok {
		return &httpapi.UnavailableError{Reason: wrong.Error()} // without the errors around it, which may name the file a second time
	}
	if e, ok := errors.AsType[*hook.Error](err); ok && e.Plugin != "" || err == nil {
		return err
	}
	return &httpapi.UnavailableError{Reason: err.Error()}
}

// postNotification writes a plugin's notification to the journal.
func (c *Core) postNotification(n pluginhost.Notification) { c.post("plugin.notification", "", n) }
