package daemon

import (
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/model"
	"github.com/patchbay-dev/patchbay/internal/pluginhost"
)

// UseModel has another model answer, PROVIDER:NAME, from the next turn on and until this core is
// closed. Where it cannot be opened, the one before stays.
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
	o := c.options
	o.Model, o.NoModel = name, false
	if provider != model.ProviderOffline {
		o.Script = ""
	}
	m, err := c.openModel(o, c.Config(), files.Secrets)
	if err != nil {
		return &ModelError{err}
	}
	c.options = o // a reload keeps it
	c.model.Store(&m)
	return nil
}

// ChosenModel tells whether anybody has chosen a model: the command line, the environment or the
// configuration.
func (c *Core) ChosenModel() bool {
	o, m := c.options, c.Config().Model
	return o.Model != "" || o.Script != "" || c.getenv("PATCHBAY_MODEL") != "" || m.Provider != "" || m.Script != ""
}

// Suggest is a model that could answer, by what the environment holds for a provider; "" where
// nothing points to one.
func (c *Core) Suggest() (variable, name string) {
	return model.Reachable(c.getenv)
}

// getenv reads the environment that the core was opened with.
func (c *Core) getenv(name string) string { return dialect.Env{Vars: c.options.Host.Environ}.Get(name) }
