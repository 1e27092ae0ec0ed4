package hookinstall

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/adapter/codehook"
	"github.com/patchbay-dev/patchbay/internal/editfile"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// This file finds the settings of agents that turn hooks off. A repository may contain such
// settings. With them no event reaches Patchbay, so Patchbay has to look for them.

// settings are the files in which an agent reads its settings. A later file overrides an earlier
// one.
type settings struct {
	user    string   // below the home directory
	project []string // below a project's root
}

// settingsFiles lists the agents that have a setting against hooks.
var settingsFiles = map[codehook.Agent]settings{
	codehook.Claude:  {".claude/settings.json", []string{".claude/settings.json", ".claude/settings.local.json"}},
	codehook.Codex:   {".codex/config.toml", []string{".codex/config.toml"}},
	codehook.Copilot: {".copilot/settings.json", []string{".github/copilot/settings.json", ".github/copilot/settings.local.json"}},
	codehook.Gemini:  {".gemini/settings.json", []string{".gemini/settings.json", ".gemini/.env", ".env"}},
	codehook.Qwen:    {".qwen/settings.json", []string{".qwen/settings.json", ".qwen/.env", ".env"}},
}

// turnedOff reports the settings that keep an agent from calling our hooks, and the settings that
// keep our program from finding the user's plugins. It also returns errors of files that cannot be
// read.
func turnedOff(agent codehook.Agent, home, project string, getenv func(string) string) (faults []Fault, errs []error) {
	files := settingsFiles[agent]
	var users string
	var paths []string
	if p, err := layouts[agent].place(agent, files.user, home, getenv); err == nil && files.user != "" {
		users = p.Path()
		paths = append(paths, users)
	}
	for _, name := range files.project {
		if path := filepath.Join(project, filepath.FromSlash(name)); project != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	var all *Fault // the setting that turns off all hooks; nil: there is none
	for _, path := range paths {
		values, err := readSettings(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if name, off, set := switchedOff(agent, values); set {
			all = nil
			if off {
				all = &Fault{fmt.Sprintf("%s turns all hooks of %s off with %s: no plugin is called", path, agent.Title(), name), "remove " + name + " from the file"}
			}
		}
		faults = append(faults, ownOff(agent, path, path == users, values)...)
	}
	if all != nil {
		faults = append(faults, *all)
	}
	return faults, errs
}

func readSettings(path string) (map[string]any, error) {
	text, err := plainfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	read := editfile.ReadJSON
	switch filepath.Ext(path) {
	case ".toml":
		read = editfile.ReadTOML
	case ".env":
		return map[string]any{"env": variables(string(text))}, nil
	}
	values, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// variables returns the variables in a file of lines NAME=VALUE. The agent adds them to its own
// environment, which hooks inherit.
func variables(text string) map[string]any {
	env := make(map[string]any)
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		env[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), "'\"`")
	}
	return env
}

// switchedOff returns whether a file turns all hooks off or on, and by which setting. set is false
// if it does neither.
func switchedOff(agent codehook.Agent, values map[string]any) (name string, off, set bool) {
	for _, s := range switches[agent] {
		inner := values
		if s.table != "" {
			inner, _ = values[s.table].(map[string]any)
			name = s.table + "."
		}
		if on, ok := inner[s.key].(bool); ok {
			return name + s.key, on == s.off, true
		}
	}
	return "", false, false
}

// switches lists the settings that turn all hooks of an agent off.
var switches = map[codehook.Agent][]struct {
	table, key string
	off        bool // the value that turns them off
}{
	codehook.Claude:  {{"", "disableAllHooks", true}},
	codehook.Codex:   {{"features", "hooks", false}, {"features", "codex_hooks", false}},
	codehook.Copilot: {{"", "disableAllHooks", true}},
	codehook.Gemini:  {{"hooksConfig", "enabled", false}},
	codehook.Qwen:    {{"", "disableAllHooks", true}},
}

// ownOff reports settings that concern our hooks and no others: Gemini CLI has a list of the names
// of hooks that it does not call, and an agent can set variables that turn our program off or make
// it call other plugins.
func ownOff(agent codehook.Agent, path string, users bool, values map[string]any) []Fault {
	var faults []Fault
	if config, _ := values["hooksConfig"].(map[string]any); agent == codehook.Gemini {
		if names, _ := config["disabled"].([]any); slices.Contains(names, any(mainProgram)) {
			faults = append(faults, Fault{fmt.Sprintf("%s turns the hook %s off with hooksConfig.disabled: no plugin is called", path, mainProgram),
				"remove " + mainProgram + " from the list"})
		}
	}
	if env, ok := values["env"].(map[string]any); ok {
		if env["PATCHBAY_HOOK"] == "off" {
			faults = append(faults, Fault{path + ` sets PATCHBAY_HOOK to "off": no plugin is called`, "remove PATCHBAY_HOOK from the file"})
		}
		for _, name := range pluginVariables {
			if value, ok := env[name].(string); ok && !users {
				faults = append(faults, Fault{fmt.Sprintf("%s sets %s to %.80q, so hooks call other plugins than yours, or none", path, name, value),
					"remove " + name + " from the file"})
			}
		}
	}
	return faults
}

// pluginVariables are the variables that decide which plugins are yours. You may set them in your
// own settings.
var pluginVariables = []string{"PATCHBAY_HOME", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "SCAFFOLD_HOME", "DOTAGENT_PLUGIN_PATH"}
