package pluginhost

import "github.com/patchbay-dev/patchbay/internal/sandbox"

// SetSystem makes a host believe that this, and no more, can be enforced.
func (o *Options) SetSystem(s *sandbox.System) { o.system = s }
