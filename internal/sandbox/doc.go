// Package sandbox holds a plugin to what it declares, by the kernel's word.
//
// A [Box] is one plugin's sandbox: it turns the capabilities it was granted into a plan, and every
// process that is started in it (proc.Spec.Box) is built up by package jail as that plan says. What
// is not in the plan is not there: the process sees a file system made of what was granted, no
// process but its own, no network but one that ends at its host ([broker]).
//
//	Box.Pack ─► plan        capabilities → mounts, network, what may be executed         plan_linux.go, base_, home_, outside_, loaders_linux.go
//	         │   └► origins where a program comes from, and so whether it is mounted     origin_linux.go, programs_, walk_linux.go
//	         ├► finish      the same in the kernel's words: seccomp, Landlock, netlink   draft_linux.go, filter_, landlock_, wire_linux.go
//	         └► session     the socket to the jail: its sockets, its word that it runs   session_linux.go
//	              └► broker  the names and connections that were granted                 broker/
//
// What a plugin always has, since no program runs without: the system's libraries and shared data,
// the interpreter it is written for with its own libraries, its own files (all to be read, none to
// be changed), /proc with its own processes, a few devices, a /tmp of its own with an empty home in
// it, in memory, from which nothing can be executed.
//
// [System] says what of this can be had on the machine at hand, found out by trying. Nothing is
// enforced in silence only in part: [System.Judge] has a verdict on each capability, and what
// cannot be kept is refused by those who ask for it.
//
// What it is not: it knows no dialect and reads no configuration. Who is confined, and to what, its
// callers say.
package sandbox
