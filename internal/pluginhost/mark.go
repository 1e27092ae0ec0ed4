package pluginhost

// Mark is what the processes that the host starts can be known by from outside, and whatever they
// start in turn: a text that is the same for the host's whole life and no other host's. It is empty
// where the system has nothing of the kind. Whoever finds the host's process dead can tell by it
// whether a plugin is still running.
func (h *Host) Mark() string { return h.procs.Mark() }
