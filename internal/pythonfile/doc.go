// Package pythonfile shows, checks, saves, reloads and deletes plugins of the python dialect, each
// of which is a single file of code. The daemon and the command use it through [Of]. The host
// itself offers only what any dialect could use.
//
//	Of(host)
//	├─ List, Get          files of code that the host has opened, or could not open
//	├─ Check, CheckFile   try code in a sandbox without access to anything; save nothing
//	├─ Save, Create       try code as it would be loaded, replace the file, load the plugin
//	└─ Reload, Delete     read the file again, or remove it
//
// What it is not: it starts no interpreter. The dialect does, with the host's runtime.
package pythonfile
