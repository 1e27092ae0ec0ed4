// Package faults holds one table of plugins that misbehave, in every dialect, against the host as a
// program embeds it: patchbay.Open, Fire, CallTool and Close, with real processes. It has no code
// of its own, only tests, and they run on Linux, where it can be seen what a host leaves behind.
//
// A row of the table (matrix_test.go) is a misbehaviour: what a plugin does, and at which moment of
// its life. A column is a dialect. A cell says what the host makes of it, or why it has no meaning
// there.
//
//	TestMatrix ─ play ┬ open        a host with the culprit, a fellow of its dialect and a neighbour of another
//	                  ├ meet        what brings the moment about: open, fire, call a tool, ask for health, wait, close
//	                  │  └ during   meanwhile the neighbour is called, again and again, and must answer
//	                  ├ judge       the error names plugin, point and cause, or there is none
//	                  ├ recover     the culprit works again, unless the cell says that it is lost; its fellow does in any case
//	                  └ close       no process, no descriptor, no goroutine is left, and no memory to speak of
//
// A new misbehaviour is a line in plugtest's acts (fault_act.go, and fault_python.go) and a row
// here.
//
// Beside the table: what becomes of the host where its own disk is full (disk_test.go), and where
// the clock jumps (clock_test.go).
//
// It does not measure how fast the host is meanwhile: that is the section "faults" of the bench.
package faults
