package daemon

import (
	"log/slog"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// UseModel makes the model PROVIDER:NAME answer from the next turn on, until the core is closed. If
// it cannot be opened, the previous model stays.
func (c *Core) UseModel(name string) error {
	provider, _, err := model.ParseName(name)
	if err != nil {
		return &ModelError{err}
	}
	c.faults.reloading.Lock()
	defer c.faults.reloading.Unlock()
	files, err := pluginhost.ReadFiles(c.Dirs)
	if err != nil {
		return err
	}
	o := *c.options.Load()
	o.Model, o.NoModel = name, false
	if provider != model.ProviderOffline {
		o.Script = ""
	}
	m, err := c.openModel(o, c.Config(), files.Secrets)
	if err != nil {
		return &ModelError{err}
	}
	c.options.Store(&o) // a reload uses it too
	c.model.Store(&m)
	return nil
}

// ExamineModel returns why the agent could not use the model that the configuration or the
// environment chooses. Errors of the configuration itself are not its subject.
func ExamineModel(dirs config.Dirs, environ []string) error {
	files, err := pluginhost.ReadFiles(dirs)
	if err != nil {
		return nil
	}
	o := Options{}
	o.Host.Environ = environ
	_, err = openModel(o, dirs, files.Config, files.Secrets, slog.New(slog.DiscardHandler))
	return err
}

// ChosenModel reports whether a model was chosen: on the command line, in the environment or in the
// configuration.
func (c *Core) ChosenModel() bool {
	o, m := c.options.Load(), c.Config().Model
	return o.Model != "" || o.Script != "" || c.getenv("PATCHBAY_MODEL") != "" || m.Provider != "" || m.Script != ""
}

// Suggest returns a model that could be used, and the environment variable with its key. It returns
// "" if no such variable is set.
func (c *Core) Suggest() (variable, name string) {
	return model.Reachable(c.getenv)
}

// getenv reads the environment that was given to Open.
func (c *Core) getenv(name string) string {
	return dialect.Env{Vars: c.options.Load().Host.Environ}.Get(name)
}
