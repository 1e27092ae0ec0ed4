package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

func newPythonCommand(a *app) *cobra.Command {
	return newGroupCommand("python", "The Python API of python plugins", newPythonPathCommand(a))
}

func newPythonPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print where the Python package `plugins` is, for PYTHONPATH",
		Long: `Print a directory for PYTHONPATH from which Python programs import the package plugins:
PluginPipeline, plugin_registry, load_plugin_from_file and the rest of the python
protocol's API. It is the same code that runs plugins here. The directory is below
Patchbay's data directory, and is made where it is missing.`,
		Example: `  PYTHONPATH=$(patchbay python path) python3 -c 'from plugins import plugin_registry; print(plugin_registry.discover())'
  PYTHONPATH=$(patchbay python path) python3 -m pytest tests/`,
		Annotations: exits(exit{exitOK, "printed"}, exit{exitFailed, "the package cannot be written"}),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.runPythonPath() },
	}
}

func (a *app) runPythonPath() error {
	dirs, err := config.Locate(a.getenv, runtime.GOOS)
	if err != nil {
		return err
	}
	path, err := pythonfile.Export(dirs.Data)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(struct {
			Path string `json:"path"`
		}{path})
	}
	a.printf("%s\n", path)
	return nil
}
