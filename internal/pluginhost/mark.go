package pluginhost

// Mark returns a text that identifies the processes that the host started, and their children, from
// outside. It is the same for the life of the host, and no other host has it. After the host's
// process has died, another program can use it to find plugins that are still running. It is "" if
// the system cannot mark processes.
func (h *Host) Mark() string { return h.procs.Mark() }
