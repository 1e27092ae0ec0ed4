// Package blocks reads and mends the files in which the embedded server keeps its messages. The
// server opens a block by reading it up to the first record that is not whole, and cuts off
// everything behind that record. This package looks first: it copies such a block aside, and puts
// one in its place that has every record that is whole.
//
// What it is not: it never talks to a server, and must not run while one is at work on the same
// directory; only Keep, Unread and Reports may. It knows the format of one version of nats-server,
// [ServerVersion], and a test holds it to that.
//
//	Open                    before the server starts
//	├─ readSeal             sizes and times at the last clean stop; of streams that are as they were, no block is read
//	├─ stream.read          the other streams, block by block
//	│  └─ scan              record by record; after damage it looks for the next whole record
//	├─ stream.findings      what is damaged, truncated, emptied or missing, with counts
//	└─ repairer.repair        copy aside, write anew, report
//	Keep                    while the server runs: it is about to cut a block
//	Unread.Check            while the server runs: a block that Open has not read
//	Seal                    after the server has stopped
//	└─ place.doubtful       lengths and sequence numbers of blocks that have changed since Open
//	Check, Acknowledge      for the commands `patchbay engine check` and `repair`
//
// # The format
//
// A stream is a directory jetstream/ACCOUNT/streams/NAME. Its blocks are msgs/N.blk, records one
// after another:
//
//	length(4) sequence(8) time(8) subject length(2) subject [header length(4) header] message hash(8)
//
// Numbers are little-endian. The top bit of the length says that there is a header. The top bit of
// the sequence says that the message was deleted, the next one that the record is a mark: the
// message of that sequence, in some block, is deleted. The hash is HighwayHash-64 over sequence,
// time, subject, header and message, with SHA-256("NAME-N") as its key. It covers none of the
// lengths.
//
// msgs/index.db says which messages each block has. The server writes it when it stops, and every
// two minutes. Without it, the server reads every block. So a block that was written anew has its
// index.db removed.
package blocks
