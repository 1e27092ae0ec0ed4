package pluginhost

import "github.com/patchbay-dev/patchbay/internal/sandbox"

// SetSystem makes a host believe that this, and no more, can be enforced.
func (o *Options) SetSystem(s *sandbox.System) { o.system = s }

// Spares is how many sandboxes of the host's plugins stand ready that were built ahead.
func (h *Host) Spares() int { return h.procs.Spares() }
