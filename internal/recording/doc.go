// Package recording saves what went through plugins to a file, and plays it against plugins again.
//
//	Create                      FILE.partial, locked
//	Recorder.Record             write.go    one event or call becomes one line, as soon as it is over
//	├─ newEntry                 entry.go    what each plugin was given, sent and answered
//	├─ scrubber                 scrub.go    secrets are taken out of every foreign text
//	└─ Recorder.write           one line, one write, within bounds; what does not fit is noted
//	Recorder.Close              the last line, fsync, renamed to FILE
//
//	NewSaver                    kept.go     the same lines to a stream
//	Recorder.Keep               an event of the journal becomes one line
//	└─ givenBefore, undo        undo.go     what each plugin was given, out of what each changed; checked both ways
//
//	Read                        read.go     a file that may be anybody's: bounded, checked line by line
//	Replay                      replay.go   every call of a plugin, in the recorded order, to the same plugin now
//	├─ pluginhost.Host.Ask      one hook alone, with the payload that it was given then
//	└─ comparer.changes         compare.go  both sides made comparable (normal.go), then the difference
//
// A plugin is asked what it was asked in the recording, whatever the plugins before it answer now:
// a difference is that plugin's own, and one plugin can be replayed without the others.
//
// It is not the journal, which a daemon keeps of its own turns: that has no tool calls, and leaves
// out what is long. Events of it that are whole can be saved as a recording. The format is
// described in docs/tracing.md.
package recording
