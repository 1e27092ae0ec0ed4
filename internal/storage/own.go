package storage

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/engine"
)

// An Own is a store for a command that has no engine open. It opens the engine of the configuration
// when a plugin first stores something; most plugins never do.
type Own struct {
	*Store
	Getenv     func(name string) string
	ConfigFile string // used instead of the user's file; "": the user's file
	Logger     *slog.Logger

	mu     sync.Mutex     // protects engine
	engine *engine.Engine // nil: not opened
}

// NewOwn returns an Own. The caller must close it.
func NewOwn(getenv func(name string) string, configFile string, logger *slog.Logger) *Own {
	o := &Own{Getenv: getenv, ConfigFile: configFile, Logger: logger}
	o.Store = New(o.open)
	return o
}

func (o *Own) open(ctx context.Context) (engine.Store, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.engine != nil {
		return o.engine, nil
	}
	options, err := o.configured()
	if err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	o.engine = e
	return e, nil
}

func (o *Own) configured() (engine.Options, error) {
	dirs, err := config.Locate(o.Getenv, runtime.GOOS)
	if err != nil {
		return engine.Options{}, err
	}
	read, err := config.Load(cmp.Or(o.ConfigFile, dirs.ConfigFile))
	if err != nil {
		return engine.Options{}, err
	}
	options, err := engine.Configured(dirs, read.Engine)
	options.Logger = o.Logger
	return options, err
}

// Close closes the engine, if it was opened.
func (o *Own) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.engine == nil {
		return nil
	}
	return o.engine.Close()
}
