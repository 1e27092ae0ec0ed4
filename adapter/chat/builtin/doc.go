// Package builtin provides the tools that the agent has without plugins: shell, read_file,
// write_file, edit_file, list_files and fetch.
//
// [Tools] returns them for [chat.Agent]:
//
//	Tools ─► tool[A]                      for each tool: name, description, schema, Run
//	           └─ Run ─► decode           arguments to A; the model is told what is wrong with them
//	                └─► shell.run         sh -c in its own process group, output streamed
//	                    files.read …      through a place
//	                    fetcher.get       one GET; redirects are checked, the answer becomes text
//
//	place ─► os.OpenRoot(working directory) ─► read, replace, edit, list
//
// The file tools reach nothing outside the session's working directory: every access goes through
// an [os.Root]. An [os.Root] refuses "..", absolute paths and links that lead out, also if a
// directory is exchanged meanwhile. The shell is not limited like that. It is the user's own shell,
// and that is why the agent asks before it runs ([chat.Tool.Changes]).
//
// The output of a tool is limited and valid UTF-8. A note in square brackets says what was left out
// and how to get it. If the arguments are wrong or something fails, the result says what to do
// instead. Run returns an error only for what the model cannot fix: a working directory that is
// gone, a host that is closing.
//
// The package asks for no approval; the agent does. It keeps no state between calls, and does not
// confine the processes that the shell starts.
package builtin
