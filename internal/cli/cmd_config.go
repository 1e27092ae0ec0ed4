package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/project"
	"github.com/patchbay-dev/patchbay/internal/render"
)

func newConfigCommand(a *app) *cobra.Command {
	cmd := newGroupCommand("config", "Write, find, show and edit the configuration",
		newConfigInitCommand(a), newConfigPathCommand(a), newConfigShowCommand(a), newConfigEditCommand(a))
	cmd.GroupID = groupMore
	cmd.Long = `Patchbay works without a configuration file. These commands write one, print the
paths of Patchbay's files, show the settings in force and where each comes from,
and edit the file, which is checked before it is written.`
	return cmd
}

// configDirs returns the directories that located returns, with an absolute path of the
// configuration file.
func (a *app) configDirs() (config.Dirs, error) {
	dirs, err := a.located()
	if err == nil {
		dirs.ConfigFile, err = filepath.Abs(dirs.ConfigFile)
	}
	return dirs, err
}

// projectRoot returns the root of the project in which the command works.
func (a *app) projectRoot() (string, error) {
	dir, err := filepath.Abs(cmp.Or(a.dir(), "."))
	return project.Root(dir), err
}

func newConfigInitCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a configuration file with every setting explained",
		Long: `Write config.toml with every section and key, each with its default and an
explanation. All settings are commented out, so nothing changes until you remove
a #. Only you can read the file (mode 0600). An existing file is never
overwritten.`,
		Example: `  patchbay config init
  patchbay config init --config ./patchbay.toml`,
		Annotations: exits(exit{exitOK, "the file was written"}, exit{exitFailed, "the file cannot be written"}, exit{exitRefused, "the file exists already"}),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.runConfigInit() },
	}
}

// written is the result of a command that wrote a file, in JSON.
type written struct {
	Path    string `json:"path"`
	Written bool   `json:"written"`
	Backup  string `json:"backup,omitempty"` // the path of the old file
}

func (a *app) runConfigInit() error {
	dirs, err := a.configDirs()
	if err != nil {
		return err
	}
	there := fmt.Errorf("the configuration exists already: %s", dirs.ConfigFile)
	refusal := &problem{kind: kindRefused, err: there, fix: "`patchbay config edit` edits it; `patchbay config show` shows the settings in force"}
	if _, err := os.Lstat(dirs.ConfigFile); err == nil {
		return refusal
	}
	place := editfile.Place{Dir: filepath.Dir(dirs.ConfigFile), Name: filepath.Base(dirs.ConfigFile), Mode: 0o600}
	result, err := editfile.Edit(place, func(old []byte) ([]byte, error) {
		if old != nil {
			return nil, refusal
		}
		return []byte(config.Sample()), nil
	})
	if err != nil {
		return &problem{kind: cmp.Or(statedKind(err), kindFailed), err: err, fix: fixOf(err)}
	}
	if a.flags.json {
		return a.printJSON(written{Path: result.Path, Written: true})
	}
	a.printf("written: %s\n", a.place(result.Path))
	a.sayf("Every line in it is commented out. Change it with: patchbay config edit\n")
	return nil
}

func newConfigPathCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "List where configuration, secrets, data and state are",
		Long: `List the files and directories of Patchbay: the configuration, the secrets, the
lock file, data, state, agents, and the configuration of the current project.
The list says whether each exists, and which variable, flag or key moves it.
Nothing is created.`,
		Example: `  patchbay config path
  patchbay config path --json | jq -r '.[] | select(.what == "config").path'
  PATCHBAY_HOME=/srv/patchbay patchbay config path`,
		Annotations: exits(exit{exitOK, "the paths were listed"}),
		Args:        arguments(),
		RunE:        func(*cobra.Command, []string) error { return a.runConfigPath() },
	}
}

// A configPlace is a file or directory of Patchbay, as `config path --json` prints it.
type configPlace struct {
	What    string `json:"what"`
	Path    string `json:"path"`
	Exists  bool   `json:"exists"`
	MovedBy string `json:"moved_by"` // the variable, flag or key that moves it; "": it moves with another place
}

func (a *app) runConfigPath() error {
	places, err := a.configPlaces()
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(places)
	}
	rows := [][]render.Cell{render.Head("WHAT", "PATH", "THERE", "MOVED BY")}
	for _, p := range places {
		there := render.Cell{Text: "no", Style: render.StyleDim}
		if p.Exists {
			there = render.Cell{Text: "yes", Style: render.StyleGreen}
		}
		rows = append(rows, []render.Cell{{Text: p.What, Style: render.StyleBold}, {Text: a.place(p.Path)}, there, {Text: orDash(p.MovedBy), Style: render.StyleDim}})
	}
	screen := a.screen()
	if width := screen.Width; width > 0 && render.TableWidth(rows, maxPathWidth) > width {
		rows = onTwoLines(rows)
	}
	screen.Width = 0 // a shortened path could not be copied
	return render.Table(a.out, rows, screen)
}

// maxPathWidth is more than any path has.
const maxPathWidth = 1 << 16

// onTwoLines returns the table of places for a narrow terminal: below each path is whether it
// exists, and what moves it.
func onTwoLines(rows [][]render.Cell) [][]render.Cell {
	var out [][]render.Cell
	for _, row := range rows[1:] {
		there := "not there"
		if row[2].Text == "yes" {
			there = "there"
		}
		if row[3].Text != "-" {
			there += ", moved by " + row[3].Text
		}
		out = append(out, row[:2], []render.Cell{{}, {Text: there, Style: render.StyleDim}})
	}
	return out
}

func (a *app) configPlaces() ([]configPlace, error) {
	dirs, err := a.configDirs()
	if err != nil {
		return nil, err
	}
	root, err := a.projectRoot()
	if err != nil {
		return nil, err
	}
	agents, err := dirs.JobDirs(config.Default())
	if c, loadErr := config.Load(dirs.ConfigFile); loadErr == nil { // other commands report errors in it
		agents, err = dirs.JobDirs(c)
	}
	if err != nil {
		return nil, err
	}
	by := func(variable string) string {
		if a.getenv("PATCHBAY_HOME") != "" {
			return "$PATCHBAY_HOME"
		}
		return variable
	}
	list := []configPlace{
		{What: "config", Path: dirs.ConfigFile, MovedBy: "--config, " + by("$XDG_CONFIG_HOME")},
		{What: "secrets", Path: dirs.SecretsFile, MovedBy: by("$XDG_CONFIG_HOME")},
		{What: "lock", Path: dirs.LockFile, MovedBy: "--config, " + by("$XDG_CONFIG_HOME")},
		{What: "data", Path: dirs.Data, MovedBy: by("$XDG_DATA_HOME")},
		{What: "state", Path: dirs.State, MovedBy: by("$XDG_STATE_HOME")},
		{What: "project config", Path: filepath.Join(root, filepath.FromSlash(config.ProjectFile)), MovedBy: "--dir"},
	}
	for _, dir := range agents {
		list = append(list, configPlace{What: "agents", Path: dir, MovedBy: "[jobs] dirs"})
	}
	for i := range list {
		_, err := os.Stat(list[i].Path)
		list[i].Exists = err == nil
	}
	return list, nil
}
