// Command soak runs one `patchbay serve` for an hour under constant load, and checks that it lost
// nothing and did not grow.
//
//	go run ./soak --program PATH [--for 1h] [--sessions 50] [--pause 0] [--json]
//
// It is not a benchmark, although it prints a speed. It looks for faults that show only after a
// long time: an event or a message that is lost once in a hundred thousand, growing memory and
// descriptors, a process that is left behind.
//
//	main
//	└─ soak.run
//	   ├─ furnish        a fresh home with plugins of all five dialects and an agent that is due every minute
//	   ├─ watcher.watch  followers of all events; half of them leave and come back with Last-Event-ID
//	   ├─ speaker.speak  sends messages; after so many it compares the transcript, waits for the followers, deletes the session
//	   ├─ replayer       reads a stretch of the journal again and compares it with what the followers saw
//	   ├─ keeper         has a plugin store, read and delete; starts a process-per-call plugin
//	   ├─ sampler        memory, descriptors, goroutines, disk
//	   └─ soak.checkAll  every check, each with what was found and what was allowed
//
// Data on disk is limited: a session is deleted after --messages messages, together with its
// events.
package main
