package feature

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknown is returned for a flag that does not exist.
var ErrUnknown = errors.New("unknown feature")

// A Stage says how mature a feature is.
type Stage string

// The stages.
const (
	Experimental Stage = "experimental"
	Stable       Stage = "stable"
)

// Plugins is the flag that lets clients of the HTTP API save, delete and reload plugins:
// docs/protocols/python.md, row P48.
const Plugins = "plugins"

// A Feature is a flag and its current state.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Stage       Stage  `json:"stage"`
	Default     bool   `json:"default"`
	Enabled     bool   `json:"enabled"`
}

// Known returns the flags with their defaults, sorted by name.
func Known() []Feature {
	return []Feature{
		// The protocol fixes the description: docs/protocols/python.md, row P48.
		{Name: Plugins, Description: "Enable plugin system for agent customization", Stage: Experimental},
	}
}

// Find returns a flag with its default, or [ErrUnknown].
func Find(name string) (Feature, error) {
	list := Known()
	i := slices.IndexFunc(list, func(f Feature) bool { return f.Name == name })
	if i < 0 {
		return Feature{}, fmt.Errorf("%w: %.64q", ErrUnknown, name)
	}
	return list[i], nil
}
