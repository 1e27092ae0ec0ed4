// Package jail is the inside of the sandbox: the processes that build it around a program and then start the program in it.
//
// They are the host's own executable, started again under the names [Outer] and [Inner], and they take over in an init
// function, before the main of a program that knows nothing of them; package guard does the same. So nothing has to be
// installed, no helper is setuid, and what embeds the host gets the sandbox by importing it. Under any other name the
// process is left untouched.
//
//	host                       outer (in the host's namespaces)          inner (pid 1 of new ones)
//	 Plan in a memfd ───────►  read the plan
//	                           clone inner: user, mount, pid, ipc, uts, network namespaces
//	                           open what is to be seen inside, as root  ─► take it over, or open it
//	 control socket ◄──────────────────────────────────────────────────── network: addresses, redirect; its sockets to the host
//	                                                                      mounts: a new root with only what was granted
//	                                                                      one thread gives up its rights: no capabilities,
//	                                                                      no new ones, Landlock, seccomp, limits
//	 control socket ◄──────────────────────────────────────────────────── that thread starts the program: "runs", or why not
//	                           wait; end as the program ended         ◄── reap; tell how it ended; all that is left dies with it
//
// Where user namespaces are not to be had, the plan says so (Plan.Simple), and outer gives up its rights and becomes the program: Landlock
// and seccomp without namespaces.
//
// # Why two processes and one thread
//
// A Go program has several threads from its first moment on, and the kernel lets only a single-threaded process enter a new user
// namespace. It has to be born there, and cloning a large host is dear: 49 ms at a gigabyte. So a small process is started first, and
// that one clones. The restrictions are those of a thread and its children, not of the process: inner keeps the right to reap, to watch
// its host and to end, on its other threads, while what it starts from the restricted one has none. Nobody inside can trace
// or signal pid 1.
//
// What it is not: it decides nothing. What is granted, and what cannot be enforced, is for package sandbox.
package jail
