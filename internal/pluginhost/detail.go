package pluginhost

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/config"
	"github.com/patchbay-dev/patchbay/internal/excerpt"
	"github.com/patchbay-dev/patchbay/internal/plainfile"
)

// A Manifest is the file in which a plugin describes itself.
type Manifest struct {
	Path string `json:"path" doc:"The file." example:"/home/mira/.local/share/kaged/plugins/notes/manifest.yaml"`
	Text string `json:"text" doc:"Its present text, without secrets; cut after 64 KiB." example:"name: notes\nversion: 1.0.0\n"`
}

const (
	mostManifest  = 1 << 20  // the largest file that is read
	shownManifest = 64 << 10 // the most text that is shown
)

// manifest reads a plugin's manifest. It returns nil if there is none, or if it cannot be read.
func (h *Host) manifest(e *entry) *Manifest {
	if e.found.File == "" {
		return nil
	}
	text, err := plainfile.Read(e.found.File, mostManifest)
	if err != nil {
		return nil // Doctor reports what is wrong with it
	}
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	return &Manifest{Path: e.found.File, Text: excerpt.Head(h.Hidden().Clean(string(text)), shownManifest)}
}

// describeConfig sets the fields of d about the plugin's config and where each value comes from.
// Secrets are replaced by a placeholder.
func (h *Host) describeConfig(e *entry, d *PluginDetail) {
	user, project := h.layersInUse(e)
	d.ConfigSchema = e.info.Schema
	if d.ConfigSchema == nil {
		d.ConfigSchema = json.RawMessage("null")
	}
	d.ConfigUser, d.Config = e.shownConfig(user.table), e.shownConfig(config.Over(user.table, project.table))
	d.ConfigFrom = make(map[string]string, len(d.Config))
	for name := range d.Config {
		d.ConfigFrom[name] = fromUser
		if _, ok := project.table[name]; ok {
			d.ConfigFrom[name] = fromProject
		}
	}
}

// shownConfig returns a config with a placeholder for each secret: a value whose name sounds like
// one, or that the plugin's schema declares as one.
func (e *entry) shownConfig(table map[string]any) map[string]any {
	shown := config.Shown(table)
	hideDeclared(e.info.Schema, shown)
	return shown
}

// hideDeclared replaces the values that the schema declares as passwords.
func hideDeclared(schema json.RawMessage, table map[string]any) {
	declared := declaredSecrets(schema)
	for _, name := range slices.Collect(maps.Keys(table)) {
		p, ok := declared[name]
		if !ok {
			continue
		}
		if p.secret() {
			table[name] = config.Hidden
		} else if inner, ok := table[name].(map[string]any); ok {
			hideDeclared(p.raw, inner)
		}
	}
}

// A declaredProperty holds the parts of a schema's property that say whether it is a secret.
type declaredProperty struct {
	raw       json.RawMessage
	Format    string `json:"format"`
	WriteOnly bool   `json:"writeOnly"`
}

func (p declaredProperty) secret() bool { return p.WriteOnly || p.Format == "password" }

func declaredSecrets(schema json.RawMessage) map[string]declaredProperty {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &object) != nil {
		return nil // the dialect has reported it
	}
	out := make(map[string]declaredProperty, len(object.Properties))
	for name, raw := range object.Properties {
		p := declaredProperty{}
		if json.Unmarshal(raw, &p) == nil {
			p.raw = raw
			out[name] = p
		}
	}
	return out
}

// DeclaredSecret reports whether a value of config.toml, given by its keys, is a secret according
// to the schema of its plugin.
func (h *Host) DeclaredSecret(path []string) bool {
	if len(path) < 4 || path[0] != "plugins" || path[2] != "config" {
		return false
	}
	return slices.ContainsFunc(h.roster().entries, func(e *entry) bool {
		return e.names.hasName(path[1]) && declaredAt(e.info.Schema, path[3:])
	})
}

// declaredAt reports whether the value at a path of a config is a secret, or is inside one.
func declaredAt(schema json.RawMessage, path []string) bool {
	p, ok := declaredSecrets(schema)[path[0]]
	return ok && (p.secret() || len(path) > 1 && declaredAt(p.raw, path[1:]))
}

// Latencies returns how long the last calls of each plugin took, in microseconds, oldest first. If
// two plugins have the same name, the key of the second is DIALECT:NAME.
func (h *Host) Latencies() map[string][]uint32 {
	out := make(map[string][]uint32)
	for _, e := range h.roster().entries {
		name := e.info.Name
		if _, taken := out[name]; taken {
			name = e.address()
		}
		out[name] = e.tally.Recent()
	}
	return out
}
