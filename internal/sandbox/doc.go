// Package sandbox confines the processes of a plugin to the capabilities that were granted to it.
// The kernel enforces the confinement.
//
// A [Box] is the sandbox of one plugin. It turns the granted capabilities into a plan, and package
// jail builds each process that is started in the box (proc.Spec.Box) according to that plan. The
// process sees only the files that were granted, only its own processes, and only a network whose
// connections end at the host ([broker]).
//
//	Box.Pack ─► plan        capabilities → mounts, network, programs that may be executed   plan_linux.go, base_, home_, outside_, loaders_linux.go
//	         │   └► origins where a program comes from, which decides whether it is mounted  origin_linux.go, programs_, walk_linux.go
//	         ├► finish      encodes the plan for seccomp, Landlock and netlink               draft_linux.go, filter_, landlock_, wire_linux.go
//	         └► session     the control socket: receives the jail's sockets and reports      session_linux.go
//	              └► broker  answers for the granted names and connections                   broker/
//
// Every plugin has some things without a grant, because no program runs without them: the system's
// libraries and shared data, its interpreter and the interpreter's libraries, and its own files,
// all read-only; /proc with its own processes; a few devices; and a /tmp in memory with an empty
// home in it, from which nothing can be executed.
//
// [System] describes how much of this can be enforced on the machine; [Probe] finds out by trying.
// [System.Judge] returns a verdict for each capability, so that no capability is enforced only
// partly without saying so. The callers refuse to start a plugin whose capability cannot be
// enforced.
//
// The package knows no dialect and reads no configuration. Its callers decide which plugins are
// confined, and to which capabilities.
package sandbox
