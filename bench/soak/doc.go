// Command soak runs one `patchbay serve` for an hour under a load that does not let up, and checks
// what must still hold then.
//
//	go run ./soak --program PATH [--for 1h] [--sessions 50] [--pause 0] [--json]
//
// It is not a benchmark: what it tells about speed is by the way. It looks for what shows only
// after a long time: an event or a message that is lost once in a hundred thousand, memory and
// descriptors that grow, a process that stays.
//
//	main
//	└─ soak.run
//	   ├─ furnish        a fresh home with plugins of all five dialects and an agent that is due every minute
//	   ├─ watcher.watch  followers of all events; half of them leave and come back with Last-Event-ID
//	   ├─ speaker.speak  sends messages; after so many it compares the transcript, waits for the followers, deletes the session
//	   ├─ replayer       reads a stretch of the journal again and compares it with what the followers saw
//	   ├─ keeper         has a plugin store, read and delete; starts a process-per-call plugin
//	   ├─ sampler        memory, descriptors, goroutines, disk
//	   └─ soak.judge     every check, each with what was found and what was allowed
//
// Data on disk is bounded: a session is deleted after so many messages, and its events go with it.
package main
