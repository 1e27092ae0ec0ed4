// Package doors keeps plugins in our sandboxes away from the daemon's HTTP address and from the
// sockets between processes of one user. A plugin that could call the daemon could save another
// plugin, and have that run outside of its sandbox.
//
// A plugin can get there in two ways. Each is closed at the place where the plugin can be
// recognised.
//
//	net:HOST   the broker connects for the plugin, from a process that is not confined
//	             Announce    the daemon makes its address known to every process of this machine       announce_linux.go
//	             At          the broker looks for daemons once it is connected, before it passes bytes on
//
//	net:*      the plugin connects by itself
//	             Caller      the server asks which process has the other end of a TCP connection       caller_linux.go
//	               ├─► find        the user and the number of its socket, in the kernel's table        table_linux.go
//	               ├─► jails       the users of the sandboxes that could have made it                  processes_linux.go
//	               └─► holders     the processes that have it; is one of them in a sandbox?
//	             Peer        the same for a Unix socket, where the kernel names the process            ancestors_linux.go
//
// A process is in a sandbox of ours if one of its ancestors is a process of package jail, which is
// known by its name. A plugin cannot lose its ancestors: the first process of its process namespace
// is one of ours, and adopts every orphan. Other sandboxes (Codex, bubblewrap, containers) have no
// such ancestor, and their processes are served.
//
// A caller that may be in a sandbox or not is refused, and the [Refusal] says why.
// docs/decisions/0015-our-own-doors.md has the reasons for this design.
//
// What it is not: it knows neither HTTP nor plugins, and reads no configuration. On other systems
// than Linux there is no sandbox, and no caller is refused.
package doors
