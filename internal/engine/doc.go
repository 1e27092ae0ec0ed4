// Package engine stores the state of the program: values in buckets, records in streams, and items
// in queues. It uses NATS JetStream, which runs in this process, in another process on the same
// directory, or in a cluster. Callers do not see the difference.
//
// When a write has returned nil, its data is on disk, and survives kill -9. A later read returns
// it.
//
// The package stores bytes: sessions and plugins have no meaning here. It is not a message bus:
// followers of a stream get the stored records.
//
// # Opening
//
//	Open
//	├─ newNode                embedded: the data directory and its socket (node.go)
//	├─ dial ─► node.Dial      finds a server, now and whenever the connection is lost:
//	│         ├─ InProcessConn         this process runs the server
//	│         ├─ localsock.Dial        another process runs it, and passes data on (share.go)
//	│         └─ tryLock ─► becomeOwner   no process runs it: check the store (blocks.Open), start the server,
//	│                                  share it, and check the remaining blocks (scrub.go)
//	└─ check                  does the server have a store?
//
// # Reading and writing
//
// [Engine.Bucket], [Engine.Stream] and [Engine.Queue] open what they name, and create it if
// necessary.
//
//	Bucket.Put, Stream.Append, Queue.Put ─► backing.publish  ─► link.do ─► attempt, until there is an answer
//	Stream.Read, Bucket.Values           ─► backing.scanSome ─► batch.run, until the end
//	Stream.Follow, Bucket.Watch          ─► backing.follow   ─► tail.run, until the context ends
//
// # One directory, several processes
//
// The process that has the lock of the data directory is the owner: it runs the server and listens
// on a socket. The others are guests and connect to that socket. When the owner ends in any way,
// the kernel releases the lock. One guest takes it and becomes the owner, and the others connect to
// it. Calls that are made meanwhile wait. A process that hangs keeps the lock; [HeldError] names
// it.
//
// # Requests that are sent twice
//
// A request without an answer is sent again until the context ends or half a minute has passed
// ([ErrUnavailable]). Repeating a read is harmless. Writes are made safe to repeat:
//
//   - Append, and Put of a queue: each record has an id, the caller's or a random one. The server
//     stores an id once, and remembers the ids of the last minute through a restart.
//   - Append with After, Update, Create, DeleteAt: if the server refuses the write after a try
//     without an answer, the engine looks at the stored message. If that is our own write, the
//     write has succeeded. In a bucket another writer may have replaced it, and the result is
//     unknown: ErrUncertain.
//   - Put and Delete of a bucket: each try has the same id. If the server was restarted in between,
//     and another process wrote the key at that moment, the value is written a second time, over
//     the other one, as if it had come later.
//   - The answers about a Job may be sent twice.
//
// # A full disk
//
// After a failed write the server accepts no more writes. It says so only in its log, which the
// owner reads: the current call gets [ErrDisk], and a new server replaces the old one. Stored data
// can be read meanwhile. A guest does not see the log. If it gets no answer, it tries to write into
// the directory itself (disk.go).
//
// # Damage
//
// The server cuts off a block at the first damaged record. Package blocks recovers the records
// behind it before a server starts. While a server runs, its log says when it is about to rebuild a
// block (damage.go). [Check], [Repair], [Backup] and [Restore] work on the files of a directory.
//
// # Names
//
// The server's streams are patchbay_bucket_NAME, patchbay_stream_NAME and patchbay_queue_NAME, and
// their subjects patchbay.bucket.NAME.KEY and so on. The slashes of a key become full stops, and
// characters that a subject cannot have become =XX (name.go).
package engine
