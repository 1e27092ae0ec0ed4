// Package jail is the inside of the sandbox: the processes that build it around a program and then
// start the program in it.
//
// They are the host's own executable, started again with a [Mark] in the environment, and they take
// over in an init function, before the main of a program that knows nothing of them; package guard
// does the same. So nothing has to be installed, nothing is setuid, and what embeds the host gets
// the sandbox by importing it. Without the mark the process is left untouched. Where
// cmd/patchbay-jail, which is this package and nothing else, lies beside the executable, it is
// started instead, since it starts sooner.
//
//	host                       outer (in the host's namespaces)          inner (pid 1 of new ones)
//	 Plan in a memfd ───────►  read the plan
//	                           (start middle, where the user is an ordinary one, which does the rest)
//	                           clone inner: user, mount, pid, ipc, uts, cgroup, network namespaces
//	                           open what is to be seen inside, as root  ─► take it over, or open it
//	                                                                      bar loaders: they load, and are not executed
//	 control socket ◄──────────────────────────────────────────────────── network: addresses, redirect; its sockets to the host
//	                                                                      mounts: a new root with only what was granted
//	                                                                      one thread gives up its rights: no capabilities,
//	                                                                      no new ones, Landlock, seccomp, limits
//	 control socket ◄──────────────────────────────────────────────────── that thread starts the program: "runs", or why not
//	                           wait; end as the program ended         ◄── reap; tell how it ended; all that is left dies with it
//
// In the order of the work:
//
//	init                      is this one of the jail's?                                  jail_linux.go
//	├─► outer                 clone, supply, wait                                         outer_linux.go
//	│    └─► middle           bar loaders; then as outer                                  bar_linux.go
//	└─► inner                                                                             inner_linux.go
//	     ├─► bar              which files are loaders and no programs                     bar_linux.go
//	     ├─► network          the loopback interface, messages of the plan, sockets       net_linux.go
//	     ├─► mounts           copies of what is outside, the new root                     mount_linux.go
//	     │    └─► builder     each thing to its place in it                               builder_linux.go
//	     ├─► restrict         limits, capabilities, filter                                restrict_linux.go
//	     │    └─► landlock                                                                landlock_linux.go
//	     └─► start, reap
//
// A jail that is built ahead (Plan.Ahead) stops after its mounts, says what it has bound, and waits
// for a second plan on the control socket: that of the program. The host has compared the two, and
// inner looks whether its mounts are still where it put them (ahead_linux.go). What the thread
// gives up is what the second one says.
//
// Where user namespaces are not to be had, the plan says so (Plan.Simple), and outer gives up its
// rights and becomes the program: Landlock and seccomp without namespaces.
//
// # Why two processes and one thread
//
// A Go program has several threads from its first moment on, and the kernel lets only a
// single-threaded process enter a new user namespace. It has to be born there, and cloning a large
// host is dear: 49 ms at a gigabyte. So a small process is started first, and that one clones. The
// restrictions are those of a thread and its children, not of the process: inner keeps the right to
// reap, to watch its host and to end, on its other threads, while what it starts from the
// restricted one has none. Nobody inside can trace pid 1, and no signal from inside ends it.
//
// # Why a third process
//
// Loaders are barred by a list that belongs to a user namespace, and only uid 0 of that namespace
// can write it. Where the host is root, the program takes itself for root as well, and inner writes
// the list. An ordinary user can have but one user in a namespace of his, and the program is to be
// who its host is. So there is a namespace around that of the program, in which the same user is
// uid 0, and middle is the one process in there: the list counts for the namespaces below, too.
//
// # Why bare system calls
//
// Each start of a plugin is two starts of the host's executable, or three, and most of what those
// cost is the initialisation of packages that the jail has no use for. Go initialises a package
// once all that it imports are, and among those that are ready in the order of their paths. So this
// one imports runtime, syscall and unsafe, and nothing of which more would follow: not os, which is
// why it is told by a variable and not by its arguments who it is; not fmt, encoding/json or
// x/sys/unix. It is then initialised before nearly everything else, and never returns: 3 ms of
// processor time in an executable of 90 MB, where it had been 8. What package syscall lacks is in
// sys_linux.go. What takes more than bare calls (which calls are filtered, what nftables is told,
// in which words Landlock's rules are) the host works out, and the plan has the bytes; plan and
// reports are written by a codec of a few lines (codec.go).
//
// What it is not: it decides nothing. What is granted, and what cannot be enforced, is for package
// sandbox.
package jail
