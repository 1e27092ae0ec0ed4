// Package drive runs a real `patchbay serve` and uses it as any client would: over HTTP, on
// loopback.
//
//	Start              starts a daemon on its own home, with an offline model, and waits until it is ready
//	├─ Daemon.Sample   its memory, descriptors and goroutines
//	├─ Client          sessions, messages, transcripts, counters
//	│  └─ Follow       the events of all sessions, each with its id
//	└─ Daemon.Stop     SIGTERM, and the exit code
//	Left               the processes that still use a home
//
// The package compares no figures and checks no answers for faults: the benchmarks and the soak,
// which share it, do that.
package drive
