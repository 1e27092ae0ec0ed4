package cli

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/pythonfile"
)

func newPythonCommand(a *app) *cobra.Command {
	return newGroupCommand("python", "Use the Python API of python plugins in your own programs", newPythonPathCommand(a))
}

func newPythonPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print the directory of the Python package `plugins`, for PYTHONPATH",
		Long: `Print a directory for PYTHONPATH. It contains a package with the name "plugins",
which Python programs can import: PluginPipeline, plugin_registry,
load_plugin_from_file and the rest of the API of the python protocol. Patchbay
runs python plugins with the same package. The directory is in Patchbay's data
directory, and is created if it does not exist.`,
		Example: `  PYTHONPATH=$(patchbay python path) python3 -c 'from plugins import plugin_registry; print(plugin_registry.discover())'
  PYTHONPATH=$(patchbay python path) python3 -m pytest tests/`,
		Annotations: exits(exit{exitOK, "the directory was printed"}, exit{exitFailed, "the package cannot be written"}),
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
