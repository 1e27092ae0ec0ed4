// Package enginetest has servers for tests of packages that use the engine: a cluster in the test's
// own process.
//
//	Cluster ─► boot      one server for each node, on loopback, with a store in the test's temporary directory
//	        └► await     until it has a leader
//	Shared               one cluster for all tests of a package, which leave it empty
//
// It is only for tests. For an embedded engine, call engine.Open with a temporary directory.
package enginetest
