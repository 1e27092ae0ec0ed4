package daemon

import (
	"context"
	"errors"

	"github.com/patchbay-dev/patchbay/adapter/httpapi"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
	"github.com/patchbay-dev/patchbay/internal/pluginlog"
)

// logs implements [httpapi.Logs]: the lines that plugins wrote to stderr, and the host's lines
// about them.
type logs struct{ *Core }

// open returns the last lines of a plugin's log, and a follower of the next ones.
func (l logs) open(name string, most int) (httpapi.PluginLog, *pluginlog.Follower, error) {
	p, err := l.Host.Sighted(name)
	switch {
	case errors.Is(err, pluginhost.ErrNotFound):
		return httpapi.PluginLog{}, nil, httpapi.ErrNoPlugin
	case err != nil:
		return httpapi.PluginLog{}, nil, &httpapi.InvalidRequestError{Reason: err.Error()} // two dialects have a plugin of this name
	}
	store := &pluginlog.Store{Dir: pluginlog.Dir(l.Dirs.State), Clean: func(text string) string { return l.Host.Hidden().Clean(text) }}
	lines, follower, err := store.Follow(p.Dialect, p.Logged, most)
	log := httpapi.PluginLog{Plugin: p.Name, Dialect: p.Dialect, File: store.File(p.Dialect, p.Logged), Lines: make([]httpapi.LogLine, 0, len(lines))}
	for _, line := range lines {
		log.Lines = append(log.Lines, httpapi.LogLine(line))
	}
	return log, follower, err
}

func (l logs) Tail(_ context.Context, name string, most int) (httpapi.PluginLog, error) {
	log, _, err := l.open(name, most)
	return log, err
}

func (l logs) Follow(ctx context.Context, name string, most int, f func(httpapi.LogLine) error) error {
	log, follower, err := l.open(name, most)
	if err != nil {
		return err
	}
	for _, line := range log.Lines {
		if err := f(line); err != nil {
			return err
		}
	}
	for {
		lines, err := follower.Next(ctx)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := f(httpapi.LogLine(line)); err != nil {
				return err
			}
		}
	}
}
