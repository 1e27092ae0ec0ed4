// Package conformance holds a plugin against its protocol: it calls the plugin as a host does, and
// as no host should, and says which rules it keeps. It is behind `patchbay plugin test`;
// docs/testing-plugins.md lists the checks.
//
// A check has a stable id, the sentence of the protocol that it holds, the row of docs/protocols
// that has the sentence, and what an author does about a failure. It speaks the protocol itself and
// reads strictly: what the host forgives, such as an answer with a wrong id, is noted, and is the
// failure of one check rather than of all.
//
//	At, Server            target.go      what is tested, and its dialect
//	Run                   run.go         the checks, one after another, within the time of the whole
//	  bench.open          bench.go       a home, a project and an environment of the run's own
//	  bench.suite         bench.go       the checks of the dialect: dotagent.go, mine.go, kaged.go, scaffold.go, python.go, mcp.go
//	    bench.run         process.go     one process that is asked one thing (dotagent, mine, python)
//	    bench.talk        lines.go       one process that speaks JSON-RPC, a line a message (kaged, scaffold, mcp)
//	      rpcSuite        rpc.go         the checks that these three share
//	    samples           samples.go     values that fit a JSON Schema: minimal, full, at the limits
//	    sightings         sightings.go   what was seen on the way, for the checks that speak of the whole run
//	    bench.box         jail.go        the sandbox with what the plugin declares, and what it refused
//	  Report              check.go
//	WriteJUnit            junit.go
//
// What it is not: the tests of this module, which are in internal/plugtest, or a judgement of
// whether a plugin does what it is for.
package conformance
