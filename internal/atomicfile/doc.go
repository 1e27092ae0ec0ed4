// Package atomicfile replaces files as a whole: a reader finds the old text or the new one, also
// after kill -9 and a power failure.
//
//	Write, WriteIn
//	  draft       a file with another name in the same directory: written, its mode set, flushed to disk
//	  Ready       the caller's last check of the file that is replaced
//	  Rename      the draft takes the place of the file; a link there is replaced, not followed
//	  SyncDir     the directory with the new name is flushed to disk
//	Adopt         the last two steps, for a draft that the caller has written
//
// The draft of a killed process stays as .patchbay-….tmp. The package does not lock: if two
// processes write at once, the text of one of them remains. Package editfile changes files that a
// person wrote, and makes backups. This package imports nothing of the module.
package atomicfile
