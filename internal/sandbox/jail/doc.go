// Package jail contains the processes that build a sandbox around a program and then start the
// program in it.
//
// These processes are the host's own executable, started again with [Mark] in the environment. An
// init function takes over before main runs; package guard does the same. So nothing has to be
// installed, nothing is setuid, and a program that embeds the host gets the sandbox by importing
// it. Without the mark, init does nothing. If cmd/patchbay-jail, which contains only this package,
// lies beside the executable, it is started instead, because it starts faster.
//
//	host                       outer (in the host's namespaces)          inner (pid 1 of new ones)
//	 Plan in a memfd ───────►  read the plan
//	                           (for an ordinary user: start middle, which does the rest)
//	                           clone inner: user, mount, pid, ipc, uts, cgroup, network namespaces
//	                           as root: open what inner will mount       ─► receive it, or open it itself
//	                                                                      bar loaders from being executed directly
//	 control socket ◄──────────────────────────────────────────────────── network: addresses, redirect; send its sockets to the host
//	                                                                      mounts: a new root with only what was granted
//	                                                                      restrict one thread: no capabilities, no new
//	                                                                      privileges, Landlock, seccomp, limits
//	 control socket ◄──────────────────────────────────────────────────── start the program from that thread, report the result
//	                           wait; end as the program ended         ◄── reap; report how the program ended; exit, which kills the rest
//
// In the order of the work:
//
//	init                      which of the processes this is                              jail_linux.go
//	├─► outer                 clone, supply, wait                                         outer_linux.go
//	│    └─► middle           bar loaders; then as outer                                  bar_linux.go
//	└─► inner                                                                             inner_linux.go
//	     ├─► bar              register the loaders with binfmt_misc                       bar_linux.go
//	     ├─► network          the loopback interface, the plan's messages, sockets        net_linux.go
//	     ├─► mounts           copies of the mounts outside, the new root                  mount_linux.go
//	     │    └─► builder     puts each mount in its place                                builder_linux.go
//	     ├─► restrict         limits, capabilities, filter                                restrict_linux.go
//	     │    └─► landlock                                                                landlock_linux.go
//	     └─► start, reap
//
// A jail that is built ahead (Plan.Ahead) stops after its mounts, reports the files that it has
// bound, and waits on the control socket for a second plan, the one of the program. The host has
// compared the two plans, and inner checks that its mounts are still in place (ahead_linux.go). The
// thread is restricted by the second plan.
//
// If user namespaces are not available, the plan says so (Plan.Simple). Outer then restricts itself
// with Landlock and seccomp and becomes the program.
//
// # Why two processes and one thread
//
// A Go program has several threads from its start, and the kernel lets only a single-threaded
// process enter a new user namespace. So a process must be created in the namespace, by clone.
// Cloning a large host is expensive: 49 ms at a gigabyte. So a small process is started first, and
// that one clones. The restrictions apply to a thread and its children, not to the whole process.
// Inner's other threads stay unrestricted: one of them watches the host, and ends the jail when the
// host is gone. The restricted thread starts the program, which inherits the restrictions. Then
// this thread reaps. No process inside can trace pid 1, and no signal from inside ends it.
//
// # Why a third process
//
// Loaders are barred by a list that belongs to a user namespace, and only uid 0 of that namespace
// can write the list. If the host is root, the program has uid 0 inside as well, and inner writes
// the list. An ordinary user can map only one uid into a namespace, and the program must keep the
// uid of its host. So a second user namespace is put around that of the program. In it the same
// user is uid 0, and middle, its only process, writes the list, which also applies to the
// namespaces below.
//
// # Why bare system calls
//
// Each start of a plugin starts the host's executable two or three times, and most of that time is
// the initialisation of packages that the jail does not use. Go can initialise a package when all
// its imports are initialised. If several packages are ready, the one whose path sorts first is
// next. So this package imports only runtime, syscall and unsafe, and is initialised before nearly
// every other package. Its init function never returns, so the others are never initialised. This
// takes 3 ms of processor time in an executable of 90 MB, down from 8. Without os, the package
// learns which process it is from a variable and not from its arguments. It cannot use fmt,
// encoding/json or x/sys/unix either. The calls that package syscall lacks are in sys_linux.go. The
// host computes whatever needs more than system calls (the filter, the nftables messages, the
// Landlock rules), and the plan contains the bytes. A small codec encodes plans and reports
// (codec.go).
//
// The package decides nothing. Package sandbox decides what is granted, and what cannot be
// enforced.
package jail
