// Package faults tests one table of plugins that misbehave, in every dialect, against the host with
// real processes: pluginhost.Open, Fire, CallTool and Close, which an embedding program reaches
// through package patchbay. It contains only tests. They run on Linux, where everything that a host
// leaves behind can be seen.
//
// A row of the table (matrix_test.go) is a misbehaviour: what a plugin does, and at which moment of
// its life. A column is a dialect. A cell says how the host reacts, or why the row does not apply
// there.
//
//	TestMatrix ─ play ┬ open        a host with the culprit, a fellow of its dialect and a neighbour of another
//	                  ├ moments     makes the culprit misbehave: open, fire, call a tool, check health, wait, close
//	                  │  └ during   meanwhile the neighbour is called repeatedly, and must answer
//	                  ├ checkCell   the error names plugin, point and cause, or there is none
//	                  ├ recovers    the culprit works again, unless the cell says that it is lost; its fellow always does
//	                  └ close       no process, descriptor or goroutine is left, and little memory
//
// A new misbehaviour is a line in plugtest's acts (fault_act.go and fault_python.go) and a row
// here.
//
// Other tests check the host when its own disk is full (disk_test.go), and when the clock jumps
// (clock_test.go).
//
// The package does not measure the host's speed during faults: the section "faults" of the bench
// does.
package faults
