package pluginhost

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/dialect"
	"github.com/patchbay-dev/patchbay/internal/document"
	"github.com/patchbay-dev/patchbay/internal/nearest"
)

// oddSecrets reports keys of secrets.toml that the plugin does not know, such as those of a table
// [plugins.NAME.config], and tables that are not used because another one is about the same plugin.
func (h *Host) oddSecrets(r *roster) []config.Problem {
	var problems []config.Problem
	headings := h.setup().headings()
	for _, e := range r.entries {
		used := "" // the key of the table that the plugin gets
		for _, key := range e.names.keys() {
			i := slices.IndexFunc(headings, func(x heading) bool { return x.secrets != nil && x.key == key })
			switch {
			case i < 0 || e.found.Project != "" || !r.names.gives(key, e.names):
			case used == "":
				used = key
				problems = append(problems, headings[i].unknownSecrets(e)...)
			default:
				problems = append(problems, headings[i].problemf("write its keys below ["+document.KeyPath("plugins", used)+"]",
					"has no effect: [%s] is about the same plugin, and comes first", document.KeyPath("plugins", used)))
			}
		}
	}
	return problems
}

// unknownSecrets reports the keys of a table of secrets.toml that a plugin does not know.
func (x heading) unknownSecrets(e *entry) []config.Problem {
	d, ok := e.dialect.(dialect.SecretsChecker)
	if !ok {
		return nil
	}
	text, err := json.Marshal(x.secrets)
	if err != nil {
		return nil // unreachable: it was decoded from a file
	}
	var problems []config.Problem
	unknown, known := d.UnknownSecrets(e.found, text)
	for _, name := range unknown {
		path := []any{"plugins", x.key, name}
		problems = append(problems, x.problem(fmt.Sprintf("%s: plugin %s has no secret of this name", document.KeyPath(path...), e.names.shown()),
			x.secretFix(name, known), path...))
	}
	return problems
}

// secretFix returns how to correct the name of a secret that the plugin does not know.
func (x heading) secretFix(name string, known []string) string {
	_, table := x.secrets[name].(map[string]any)
	switch near := nearest.Word(name, known); {
	case name == "config" && table:
		return "write its keys directly below [" + document.KeyPath("plugins", x.key) + "], without config"
	case near != "":
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "remove it, or write it into config.toml, if it belongs there: the plugin's secrets are " + strings.Join(known, ", ")
}
