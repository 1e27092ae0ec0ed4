// Package escape attacks the sandbox. It consists of tests: hundreds of attempts to get out, in
// Python and Bash, under testdata, and a harness that determines whether one has succeeded.
//
// The harness judges an attempt by its effects, not by what the attempt reports. Around the plugin
// there are canaries: files, servers, processes, queues and keys that no capability grants. An
// attempt has escaped if it prints the secret of a canary, if a canary has changed, or if the
// kernel granted it something that no process in a sandbox should have. Only in the last case does
// the harness believe the attempt's report. At the full level every attempt runs twice: free, to
// show that it can succeed at all, and boxed, where it must fail. If root runs the tests, root and
// an ordinary user share the attempts: an attempt that one of them makes at the full level is made
// by the other one with Landlock alone. `make soak` lets both make every attempt at both levels.
//
//	go test -v ./internal/sandbox/escape                                                    prints the table of attempts
//	PATCHBAY_ESCAPE=unix-socket go test -v -run TestEscapes ./internal/sandbox/escape       only attempts with that text in their names
//
// TestEscapesWithLandlockAlone makes the attempts at the level without namespaces, for which
// docs/security.md promises less. The attempts that may succeed there are listed, and all others
// must fail.
//
// TestTraps runs attempts that take two runs: the first one leaves a link in a place from which the
// next sandbox is built. TestLegitimate runs the work that must succeed in the box, because a
// sandbox in which nothing runs would pass the other tests. TestLegitimateWithLandlockAlone runs
// the same work without namespaces, and lists what cannot work there.
//
// # The arena
//
// Free attempts by root are dangerous, so none of them runs on the machine itself:
//
//	test ─► arena            pid 1 of new process, mount, network, ipc and uts namespaces, with its own /tmp,
//	          │              terminals and host name; its network is a loopback device and one cable
//	          ├─► neighbour  the other end of that cable: "another host", also a network namespace
//	          └─► host       root or nobody, with a terminal: has the canaries, and starts plugins as a host does
//	                ├─► canary   a process with a secret
//	                └─► attempt  free: fork and exec, everything inherited; boxed: proc.Group.Run with a sandbox.Box
//
// No attempt can reach an address outside, because the arena has no route there. Things that are in
// no namespace (the clock, kernel settings, devices) are only written with their own value, or
// opened and closed.
//
// The package is not part of the product. Nothing imports it.
package escape
