// Package filestore keeps what plugins store in files, for programs that embed Patchbay and want
// storage without a database:
//
//	store := filestore.New(dir)
//	host, err := patchbay.Open(ctx, &patchbay.Options{Dirs: plugins, Storage: store.Plugin})
//
// A plugin has a directory, and a key has a file in it:
//
//	DIR/p-PLUGIN/k-KEY.json     the key and a checksum, a newline, the value
//	DIR/p-PLUGIN/h-HASH.json    the same, for a key that is too long for a file's name
//	DIR/p-PLUGIN/lock           held while something is changed; in it, how much the plugin keeps
//	DIR/p-PLUGIN/t-…            a value that is being written
//
// A change takes these steps; reading takes no lock, since a file is replaced as a whole:
//
//	bucket.Put
//	├─ entry.CheckKey, entry.CheckValue    bounds, UTF-8, valid JSON
//	└─ bucket.change
//	   ├─ bucket.openFor       the plugin's directory, never through a link
//	   ├─ dir.lock             one writer a plugin, in all processes
//	   ├─ ledger.load          how much is kept; counted where a writer was killed
//	   └─ dir.replace          write beside, fsync, rename, fsync the directory
//
// What holds:
//
//   - When Put and Delete return nil, the change survives the death of the process, and that of the machine as far as the
//     disk keeps its promises. A writer that is killed leaves the old value or the new one. The next change removes what it left.
//   - Several hosts and several processes may use one directory at once. The last write wins; the quota is theirs together.
//   - Keys and names of plugins are hostile: no text leads out of the directory, and no two share a file, also where letter case
//     does not count. Links, pipes and directories in the place of a file are refused, not followed.
//   - A file that is damaged or not ours is an error that names it. Other keys are not touched by it.
//   - Directories have mode 0700 and files 0600.
//
// On Windows the lock is LockFileEx. Modes mean nothing there: the files have the access list of
// the directory that New is given. A directory cannot be flushed there, so that after a power
// failure the last changes may be missing, each as a whole.
//
// It is not a database: a Put takes a few milliseconds, and there is no compare-and-set.
package filestore
