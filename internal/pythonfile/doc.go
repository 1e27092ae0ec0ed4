// Package pythonfile shows, checks, saves, loads again and deletes plugins of the python dialect,
// each of which is a single file of code. It is the one place outside of the host's list of
// dialects that knows this dialect: the host offers what any dialect could use, and the daemon and
// the command go through [Of].
//
//	Of(host)
//	├─ List, Get          files of code that the host has opened, or could not open
//	├─ Check, CheckFile   code is tried out in a sandbox in which it has nothing; nothing is saved
//	├─ Save, Create       code is tried out as it would be loaded; the file is replaced; the plugin is loaded
//	└─ Reload, Delete     the file is read again, or removed
//
// It starts no interpreter by itself: the dialect does, with what the host gives it.
package pythonfile
