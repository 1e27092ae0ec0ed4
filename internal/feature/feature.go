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

// Plugins is the flag for python plugins over HTTP. While it is off, clients cannot save, delete or
// reload plugins, and the sessions of clients use none: docs/protocols/python.md, rows P48 and P49.
const Plugins = "plugins"

// A Feature is a flag and its current state.
type Feature struct {
	Name        string `json:"name" doc:"Its name." example:"plugins"`
	Description string `json:"description" doc:"What it switches on and off." example:"Python plugins in sessions over HTTP"`
	Stage       Stage  `json:"stage" enum:"experimental,stable" doc:"How stable it is." example:"experimental"`
	Default     bool   `json:"default" doc:"Its value if it was never set." example:"false"`
	Enabled     bool   `json:"enabled" doc:"Whether it is on." example:"true"`
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
