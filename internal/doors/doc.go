// Package doors keeps the plugins in our sandboxes away from our own doors: the daemon's HTTP address and the sockets between
// processes of one user. Who comes in there can save a plugin and have it run outside.
//
// A plugin can come two ways, and each is stopped where it can be seen.
//
//	net:HOST   the broker dials for the plugin, from a process that is not confined
//	             Announce    the daemon hangs out a sign that every process of the machine can see     sign_linux.go
//	             At          the broker looks for signs once it is connected, before it passes bytes on
//
//	net:*      the plugin dials for itself, and nothing is in between
//	             Caller      the server asks which process holds the other end of a TCP connection     caller_linux.go
//	               ├─► find        its user and its number, in the kernel's table of sockets           table_linux.go
//	               ├─► jails       the sandboxes that could have made it                               processes_linux.go
//	               └─► holders     the processes that have it; is one of them inside?
//	             Peer        the same for a Unix socket, whose kernel knows the process                ancestors_linux.go
//
// A process is inside where one of its ancestors is a process of package jail, by its name. In there nobody can be rid of
// his ancestors: the first process of a process namespace adopts its orphans. Other sandboxes (Codex, bubblewrap, containers) are not ours,
// and their processes are served.
//
// Where it cannot be told who calls, the answer is no: a [Refusal] that says so. Why it is built like this:
// docs/decisions/0014-our-own-doors.md.
//
// What it is not: it knows neither HTTP nor plugins, and reads no configuration. Off Linux there is no sandbox, and everybody is
// let in.
package doors
