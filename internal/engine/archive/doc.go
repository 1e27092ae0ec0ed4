// Package archive is the file of a backup: the streams of an engine in one compressed file, with
// sizes and hashes.
//
// It is a tar file under gzip. Its entries are streams/NAME/FILE, with the files that the server
// has in a stream's directory; msgs/index.db is not among them, because the server makes it from
// the blocks. The last entry, manifest.json, lists all others. Read trusts nothing in an archive:
// an entry with another name, a size that is too large, a hash that is not that of the manifest, or
// a block in which not every record is whole is an error.
//
// What it is not: it does not ask a server for anything, and writes no directory. Package engine
// does.
package archive
