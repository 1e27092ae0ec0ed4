package pluginhost

import "github.com/patchbay-dev/patchbay/internal/sandbox"

// SetSystem makes a host assume that the sandbox can enforce this and no more.
func (o *Options) SetSystem(s *sandbox.System) { o.system = s }

// Spares returns how many sandboxes of the host's plugins were built ahead and are waiting.
func (h *Host) Spares() int { return h.procs.Spares() }
