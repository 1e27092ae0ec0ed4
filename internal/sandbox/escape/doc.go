// Package escape attacks the sandbox. It is a test programme: some hundreds of attempts to get out,
// in Python and in Bash, under testdata, and a harness that knows whether one has succeeded.
//
// An attempt counts by its effect, not by its word. Around the plugin there are canaries: files,
// servers, processes, queues, keys that no capability grants. An attempt has escaped if their
// secret is in what it prints, if they are not as they were before, or if the kernel granted it
// something that nobody in a sandbox should have. Every attempt runs twice: free, to show that it
// can succeed at all, and boxed, where none may. Both as root and as an ordinary user.
//
//	go test -v ./internal/sandbox/escape                                                    the table
//	PATCHBAY_ESCAPE=unix-socket go test -v -run TestEscapes ./internal/sandbox/escape       those with that in their names
//
// TestEscapesWithLandlockAlone runs them at the level without namespaces, of which docs/security.md
// promises less: what may succeed there is listed, and everything else must hold.
//
// TestTraps is about attempts that take two runs: the first leaves a link in a place of which the
// sandbox of the next is made. TestLegitimate is what must work in the box, since a sandbox in
// which nothing runs is easily made. TestLegitimateWithLandlockAlone runs the same without
// namespaces, and lists what cannot work there.
//
// # The arena
//
// Free attempts by root are dangerous, so none runs on the machine itself:
//
//	test ─► arena            pid 1 of new process, mount, network, ipc and uts namespaces: /tmp, terminals and
//	          │              host name are its own, and its network is a loopback device and one cable
//	          ├─► neighbour  the other end of that cable: "another host", a network namespace as well
//	          └─► host       root or nobody, with a terminal: the canaries, and a plugin's host in every respect
//	                ├─► canary   a process with a secret
//	                └─► attempt  free: fork and exec, everything inherited; boxed: proc.Group.Run with a sandbox.Box
//
// No attempt can reach an address outside, because the arena has no way there. What is not in a
// namespace (the clock, kernel settings, devices) is only ever written with what it was, or opened
// and closed.
//
// What it is not: part of the product. Nothing imports it.
package escape
