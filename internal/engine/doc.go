// Package engine keeps the state of the program: values in buckets, records in streams, jobs in
// queues. Behind it is NATS JetStream, in this process, in another one on the same directory, or in
// a cluster; nobody above can tell.
//
// What a write returned nil for is on disk, and survives kill -9. What was read after that write
// has it.
//
// What it is not: it knows nothing of sessions, plugins or jobs, and stores bytes. It is no message
// bus either; who follows a stream gets what is stored.
//
//	Open
//	├─ newNode                embedded: the data directory and its socket (node.go)
//	├─ dial ─► node.Dial      whoever answers, now and whenever the connection is lost:
//	│         ├─ InProcessConn         this process runs the server
//	│         ├─ localsock.Dial        another one does: its share copies to and from the server (share.go)
//	│         └─ tryLock ─► becomeOwner nobody does: check the store (blocks.Open), start it, share it, and scrub
//	│                                  what was not checked (scrub.go)
//	└─ check                  is there a store?
//
//	Bucket.Put, Stream.Append, Queue.Put ─► backing.publish ─► link.do ─► attempt, until there is an answer
//	Stream.Read, Bucket.Values           ─► backing.scan    ─► batch.run, until the end
//	Stream.Follow, Bucket.Watch          ─► backing.follow  ─► tail.run, for ever
//
// # One directory, several processes
//
// The process that has the lock of the data directory runs the server on it and listens on a
// socket; the others connect there. When it ends, however it ends, the kernel gives the lock to one
// of those that lost the connection, and they find each other anew. Calls made meanwhile wait. A
// process that hangs but does not end keeps the lock; then [HeldError] tells which.
//
// # What is sent twice
//
// A request without an answer is made again until the context ends, or half a minute has passed
// ([ErrUnavailable]). Reading again is harmless. Writes are made safe to repeat:
//
//   - Append, Put of a queue: each record has an id, the caller's or one of ours. The server stores an id once, and
//     remembers those of the last minute through a restart.
//   - Append with After, Update, Create, DeleteAt: a refusal after a first try without an answer is looked into: if the
//     stored one is ours, it is no refusal. In a bucket somebody may have written over it, and nobody can tell any more:
//     ErrUncertain.
//   - Put and Delete of a bucket: the same id. Only if the server was restarted in between and somebody else wrote the key
//     at that moment, the value is written a second time, over theirs; as if it had come after.
//   - What is said about a Job can be said twice.
//
// # A full disk
//
// A server whose write failed takes no more writes, and tells its log alone. The owner listens
// there: the call that was under way gets [ErrDisk], a new server takes the place of the old one,
// and what is stored can be read meanwhile. A guest has no such log: when it gets no answer, it
// tries to write into the directory itself (disk.go).
//
// # Damage
//
// The server cuts off what is behind damage. Package blocks recovers it before a server starts;
// while one runs, its log says when it is about to rebuild a block (damage.go). [Check], [Repair],
// [Backup] and [Restore] work on the files of a directory.
//
// # Names
//
// The server's streams are patchbay_bucket_NAME, patchbay_stream_NAME and patchbay_queue_NAME,
// their subjects patchbay.bucket.NAME.KEY and so on. A key's slashes become full stops; what
// subjects cannot have is =XX (name.go).
package engine
