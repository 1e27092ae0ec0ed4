// Package atomicfile replaces files as a whole: whoever reads finds the old text or the new one,
// also after kill -9 and the loss of power.
//
//	Write, WriteIn
//	  draft       a file with another name in the same directory: written, its mode set, on disk
//	  Ready       the caller's last look at the file that is replaced
//	  Rename      the draft takes its place; a link there is replaced, not followed
//	  SyncDir     the directory, with the new name, is on disk
//	Adopt         the last two, for a draft that its writer kept
//
// A draft that a killed process has left is called .patchbay-….tmp. It does not lock: two who write
// at once leave the text of one of them. To change what a person wrote, with a backup, is the
// affair of package editfile. It imports nothing of the module.
package atomicfile
