// Package drive runs a real `patchbay serve` and uses it as any client would: over HTTP, on
// loopback.
//
//	Start              a daemon on a home of its own, with an offline model; ready when it says so
//	├─ Daemon.Sample   its memory, descriptors and goroutines
//	├─ Client          sessions, messages, transcripts, counters
//	│  └─ Follow       the events of all sessions, each with its id
//	└─ Daemon.Stop     SIGTERM, and the exit code
//	Left               the processes that still use a home
//
// It measures and checks nothing. The benchmarks and the soak, which share it, do that.
package drive
