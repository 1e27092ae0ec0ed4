// Package conformance tests a plugin against its protocol. It calls the plugin as a host does, also
// makes calls that no host should make, and reports which rules the plugin keeps. `patchbay plugin
// test` uses it; docs/testing-plugins.md lists the checks.
//
// # Running a test
//
// [At] finds the plugin at a path, and [Run] tests it:
//
//	target, err := conformance.At("./my-plugin", "", dialect.Env{Vars: os.Environ()})
//	…
//	report, err := conformance.Run(ctx, target, conformance.Options{Environ: os.Environ()})
//	for _, c := range report.Checks {
//		fmt.Println(c.Status, c.ID, c.Message)
//	}
//
// The error of Run means that the test could not be made. What is wrong with the plugin is in the
// [Report].
//
// # Checks
//
// A [Check] has a stable id, the sentence of the protocol that it tests, the row of docs/protocols
// that has the sentence, and advice for the author. The checks speak the protocol themselves and
// read strictly. What a host tolerates, such as an answer with a wrong id, is noted, and fails one
// check instead of all.
//
// Run gives the plugin its own home, project and environment, and confines it as the host does.
//
// # The path of a run
//
//	At, Server            target.go      the plugin to test, and its dialect
//	Run                   run.go         the checks one after another, within the time of the run
//	  bench.open          bench.go       a home, a project and an environment for the run
//	  bench.suite         bench.go       the checks of the dialect: dotagent.go, mine.go, kaged.go, scaffold.go, python.go, mcp.go
//	    bench.run         process.go     one process that answers one call (dotagent, mine, python)
//	    bench.talk        lines.go       one process that speaks JSON-RPC, one message a line (kaged, scaffold, mcp)
//	      rpcSuite        rpc.go         the checks that these three share
//	    samples           samples.go     values that fit a JSON Schema: minimal, full, at the limits
//	    sightings         sightings.go   faults seen in any call, for the checks of the whole run
//	    bench.box         jail.go        the sandbox with what the plugin declares, and what the sandbox refused
//	  Report              check.go
//	WriteJUnit            junit.go
//
// The package is not the test suite of this module, which is in internal/plugtest. It checks the
// protocol, and not whether a plugin is useful.
package conformance
