// Package filestore stores the values of plugins in files, for programs that embed Patchbay and
// want storage without a database:
//
//	store := filestore.New(dir)
//	host, err := patchbay.Open(ctx, &patchbay.Options{Dirs: plugins, Storage: store.Plugin})
//
// A plugin has a directory, and a key has a file in it:
//
//	DIR/p-PLUGIN/k-KEY.json     the key and a checksum, a newline, the value
//	DIR/p-PLUGIN/h-HASH.json    the same, for a key that is too long for a file name
//	DIR/p-PLUGIN/lock           locked during a change; contains the plugin's usage
//	DIR/p-PLUGIN/t-…            a value that is being written
//
// A change takes these steps. Reading takes no lock, because a file is replaced as a whole:
//
//	bucket.Put
//	├─ entry.CheckKey, entry.CheckValue    bounds, UTF-8, valid JSON
//	└─ bucket.change
//	   ├─ bucket.openFor       opens the plugin's directory, never through a link
//	   ├─ dir.lock             one writer for each plugin, in all processes
//	   ├─ ledger.load          the usage; counts it if a writer was killed
//	   └─ dir.replace          writes another file, fsync, rename, fsync of the directory
//
// These are its guarantees:
//
//   - When Put and Delete return nil, the change survives a crash of the process. It also survives
//     a crash of the machine, unless the disk confirmed a write that it had not stored. A writer
//     that is killed leaves the old value or the new one. The next change removes its temporary
//     files.
//   - Several hosts and several processes may use one directory at once. The last write wins. They
//     share the quota.
//   - Keys and names of plugins may be hostile: no text leads out of the directory, and no two
//     texts share a file, also on file systems that ignore case. Links, pipes and directories in
//     the place of a file are refused, not followed.
//   - For a file that is damaged, or was not written by this package, the error names the file.
//     Other keys are not affected.
//   - Directories have mode 0700 and files 0600.
//
// On Windows the lock is LockFileEx. Modes have no meaning there: the files have the access list of
// the directory that New is given. A directory cannot be flushed there, so after a power failure
// the last changes may be missing, each as a whole.
//
// It is not a database: a Put takes a few milliseconds, and there is no compare-and-set.
package filestore
