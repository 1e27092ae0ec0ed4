// Package recording saves the traffic of plugins to a file, and plays it against plugins again.
//
//	Create                      opens and locks FILE.partial
//	Recorder.Record             write.go    writes each event or call as one line, as soon as it has ended
//	├─ newEntry                 entry.go    what each plugin was given, sent and answered
//	├─ scrubber                 scrub.go    removes secrets from every foreign text
//	└─ Recorder.write           one line with one write, within limits; notes what does not fit
//	Recorder.Close              writes the last line, syncs, and renames the file to FILE
//
//	NewSaver                    kept.go     writes the same lines to a stream
//	Recorder.Keep               writes an event of the journal as one line
//	└─ givenBefore, undo        undo.go     derives what each plugin was given from its changes, and checks the result
//
//	Read                        read.go     reads an untrusted file: limited, checked line by line
//	Replay                      replay.go   repeats every call of a plugin, in the recorded order, with the plugin as it is now
//	├─ pluginhost.Host.Ask      one hook alone, with the recorded payload
//	└─ comparer.changes         compare.go  makes both sides comparable (normal.go), and compares them
//
// A plugin is sent the recorded payload, whatever the plugins before it answer now. So a difference
// always comes from the plugin that shows it, and one plugin can be replayed without the others.
//
// A recording is not the journal, which a daemon writes about its own turns: the journal does not
// record calls of plugins' tools, methods and commands, and leaves out long payloads. Complete
// events of the journal can be saved as a recording. docs/tracing.md describes the format.
package recording
