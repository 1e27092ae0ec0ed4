// Package blocks reads and repairs the files in which the embedded server stores its messages. The
// server reads a block up to the first damaged record, and cuts off everything behind it. This
// package looks first: it copies such a block aside, and replaces it by a block with all undamaged
// records.
//
// The package never talks to a server. While a server uses a directory, only Copy, Keep, KeepAll,
// Note, Unread, Reports and Unacknowledged may be used on it. It knows the format of one version of
// nats-server, [ServerVersion], and a test checks that.
//
//	Open                    before the server starts
//	├─ readSeal             sizes and times at the last clean stop; no block of an unchanged stream is read
//	├─ place.read           the other streams, block by block
//	│  └─ scan              record by record; after damage it searches for the next undamaged record
//	├─ stream.findings      what is damaged, truncated, emptied or missing, with counts
//	└─ repairer.repair      copies, rewrites, reports
//	Keep                    while the server runs, before it cuts off a block
//	Unread.Check            while the server runs: a block that Open has not read
//	Seal                    after the server has stopped
//	└─ place.doubtful       lengths and sequence numbers of blocks that have changed since Open
//	Check, Acknowledge      for the commands `patchbay engine check` and `repair`
//
// # The format
//
// A stream is a directory jetstream/ACCOUNT/streams/NAME. Its blocks are msgs/N.blk, with one
// record after another:
//
//	length(4) sequence(8) time(8) subject length(2) subject [header length(4) header] message hash(8)
//
// Numbers are little-endian. The top bit of the length says that there is a header. The top bit of
// the sequence says that the message was deleted. The next bit says that the record is a mark: the
// message of that sequence, in any block, is deleted. The hash is HighwayHash-64 over sequence,
// time, subject, header and message, with SHA-256("NAME-N") as its key. It does not cover the
// lengths.
//
// msgs/index.db lists the messages of each block. The server writes it when it stops, and every two
// minutes. Without it, the server reads every block. So rewriting a block removes index.db.
package blocks
