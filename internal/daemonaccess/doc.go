// Package daemonaccess keeps plugins in Patchbay's sandboxes away from the daemon's HTTP address
// and from the sockets between processes of one user. A plugin that could call the daemon could
// save another plugin, and have that run outside of its sandbox.
//
// A plugin can get there in two ways. Each is closed at the place where the plugin can be
// recognised.
//
//	net:HOST   the broker connects for the plugin, from a process that is not confined
//	             Announce    the daemon makes its address known to every process in its network     announce_linux.go
//	             At          the broker looks for daemons after it has connected, before it passes bytes on
//
//	net:*      the plugin connects by itself
//	             Caller      the server looks up the process at the other end of a TCP connection      caller_linux.go
//	               ├─► find        the user and the inode of its socket, in the kernel's table         table_linux.go
//	               ├─► jails       the users of the sandboxes that could have created it               processes_linux.go
//	               └─► holders     the processes that have it; is one of them in a sandbox?
//	             Peer        the same for a Unix socket, whose process the kernel names                ancestors_linux.go
//
// A process is in a sandbox of Patchbay's if one of its ancestors is a process of package jail,
// which is recognised by its name. A plugin cannot lose its ancestors: the first process of its
// process namespace belongs to package jail, and adopts every orphan. Other sandboxes (Codex,
// bubblewrap, containers) have no such ancestor, and their processes are served.
//
// If it cannot be determined whether a caller is in a sandbox, the caller is refused, and the
// [Refusal] says why. docs/decisions/0015-callers-of-the-daemon.md has the reasons for this design.
//
// The package knows neither HTTP nor plugins, and reads no configuration. On systems other than
// Linux there is no sandbox, and no caller of the daemon's user is refused.
package daemonaccess
