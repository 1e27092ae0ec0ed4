// Package pythonfile shows, checks, saves, reloads and deletes plugins of the python dialect, each
// of which is a single file of code. The daemon and the command use it through [Of]. The host
// itself offers only what any dialect could use.
//
//	Of(host)
//	├─ List, Get          files of code that the host has opened, or could not open
//	├─ Parser             code is parsed and not run, one piece after the other in one interpreter
//	├─ Check, CheckFile   code is tried out in a sandbox in which it has nothing; nothing is saved
//	├─ Save, Create       code is tried out as it would be loaded; the file is replaced; the plugin is loaded
//	└─ Reload, Delete     the file is read again, or removed
//
// The package itself starts no interpreter. Package dialect/python starts it, with the host's
// runtime.
package pythonfile
