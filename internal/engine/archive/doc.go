// Package archive reads and writes the file of a backup: the streams of an engine in one compressed
// file, with sizes and hashes.
//
// It is a gzipped tar file. Its entries are streams/NAME/FILE, with the files of a stream's
// directory. msgs/index.db is left out, because the server makes it from the blocks. The last
// entry, manifest.json, lists all others. [Read] trusts nothing in an archive: it returns an error
// for an unknown name, a size that is too large, a hash that differs from the manifest, or a block
// with a damaged record.
//
// The package does not talk to a server and writes no directory. Package engine does both.
package archive
