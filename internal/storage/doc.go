// Package storage keeps what plugins store: a key and a JSON value each, in a namespace of the plugin's own, across runs.
//
// A plugin has a directory, a key has a file in it. That is slow beside a database and wants no server, no
// lock and no repair: a value is either the old one or the new one, and several processes may use
// the same directory, where the last write wins. It is not a queue, and there is no compare-and-set.
//
//	Bucket.Put
//	├─ checkKey, checkValue     bounds, UTF-8, valid JSON
//	├─ keyName                  any key as a name that is safe on every file system
//	└─ replace                  write beside, fsync, rename, fsync the directory
//
//	<dir>/p-<plugin>/k-<key>.json      the key as a JSON string, a newline, the value
//	<dir>/p-<plugin>/h-<hash>.json     the same, for a key whose name would be too long
//
// Once Put has returned, the value survives the death of the process and of the machine, as far as
// the disk keeps its promises.
package storage
