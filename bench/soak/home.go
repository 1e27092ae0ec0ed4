package main

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed plugins
var plugins embed.FS

// places returns where each embedded plugin is installed, so that its dialect finds it, by the
// first part of its path.
func places() map[string]string {
	return map[string]string{
		"words":                "scaffold/plugins/words",
		"sign.py":              ".agent/plugins/sign.py",
		"notes":                ".local/share/kaged/plugins/notes",
		"tagger":               ".local/share/mine/plugins/tagger",
		"dotagent-plugin-gate": ".config/dotagent/plugins/dotagent-plugin-gate",
		"agent.toml":           "patchbay/agents/tick/agent.toml",
	}
}

// pluginCount returns the number of plugins: all places except that of the agent.
func pluginCount() int { return len(places()) - 1 }

// furnish makes a fresh home with the plugins.
func furnish() (string, error) {
	home, err := os.MkdirTemp("", "patchbay-soak-")
	if err != nil {
		return "", err
	}
	return home, fs.WalkDir(plugins, "plugins", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := plugins.ReadFile(path)
		if err != nil {
			return err
		}
		first, rest, _ := strings.Cut(strings.TrimPrefix(path, "plugins/"), "/")
		to := filepath.Join(home, places()[first], rest)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o700)
	})
}
