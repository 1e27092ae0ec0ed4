// Package filestate tells whether a file or directory is still as it was, without reading it.
package filestate

import (
	"io/fs"
	"time"
)

// A State identifies one state of one file. Two equal states mean the same content, unless the file
// was changed twice within one tick of the file system's clock, without a change of its size. On
// systems that do not report a time of change ([State.Certain]), a program can also set back the
// modification time.
type State struct {
	Device, Inode uint64
	Size          int64
	Modified      int64 // the modification time, which programs can set; in nanoseconds since 1970
	Changed       int64 // when the file was last changed in any way, which programs cannot set; 0: the system does not report it
}

// Of returns the state that info describes.
func Of(info fs.FileInfo) State {
	s := State{Size: info.Size(), Modified: info.ModTime().UnixNano()}
	s.Device, s.Inode, s.Changed = system(info)
	return s
}

// Certain reports whether no program can change the file and keep its state.
func (s State) Certain() bool { return s.Changed != 0 }

// Last returns when the file was last changed, as far as the system reports it.
func (s State) Last() time.Time {
	if s.Certain() {
		return time.Unix(0, s.Changed)
	}
	return time.Unix(0, s.Modified)
}
