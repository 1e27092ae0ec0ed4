// Package builtin is the tools that the agent has without any plugin: shell, read_file, write_file,
// edit_file, list_files and fetch.
//
//	Tools ─► tool[A]                      one a tool: name, description, schema, Run
//	           └─ Run ─► decode           arguments into A; what is wrong with them is told to the model
//	                └─► shell.run         sh -c in a process group of its own, output streamed
//	                    files.read …      by way of a place
//	                    fetcher.get       one GET, its redirects checked, its answer reduced to text
//
//	place ─► os.OpenRoot(working directory) ─► read, replace, edit, list
//
// The file tools reach nothing outside the session's working directory: every access goes through
// an [os.Root], so that "..", an absolute path or a link that leads out is refused by the same
// system call that would have followed it, whatever is swapped meanwhile. The shell is not bound
// like that. It is a person's own shell, and that is why it asks before it runs
// ([chat.Tool.Changes]).
//
// What a tool shows is bounded and valid UTF-8; what was left out is said in a note in square
// brackets, together with how to get at it. A tool that was called wrongly or met an error has a
// result that says what to do instead; the error of Run is for what the model cannot mend: a
// working directory that is gone, a host that is closing.
//
// What it is not: it asks nobody for leave (that is the agent's part), keeps no state between
// calls, and is no sandbox for what the shell starts.
package builtin
