// Package enginetest has servers for tests of what stands on the engine: a cluster in the test's
// own process.
//
//	Cluster ─► boot      a server a node, on loopback, with a store in the test's temporary directory
//	        └► await     until it has a leader
//	Shared               one for all tests of a package, which leave it empty
//
// It is for tests alone. An embedded engine needs no help: engine.Open on a temporary directory is
// one.
package enginetest
