package pluginhost

import (
	"errors"
	"fmt"
	"slices"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/sandbox"
)

// This file serves callers that start a plugin without opening it in a host.

// Guarded lists the places that no capability may open to a plugin.
func (h *Host) Guarded(grants []capability.Capability) ([]sandbox.Place, error) {
	return h.guarded(grants)
}

// Program returns the command of an MCP server of the configuration, and the variables that its
// table sets. ok is false if there is no server of that name.
func (h *Host) Program(name string) (command, environ []string, ok bool, err error) {
	for _, m := range h.setup().config.MCP {
		if m.Name != name {
			continue
		}
		s := h.setup().server(m)
		if s.URL != "" {
			return nil, nil, true, fmt.Errorf("the MCP server %s is at an address: %w", name, errors.ErrUnsupported)
		}
		for variable, value := range s.Env {
			environ = append(environ, variable+"="+value())
		}
		slices.Sort(environ)
		return s.Command, environ, true, s.Err
	}
	return nil, nil, false, nil
}
