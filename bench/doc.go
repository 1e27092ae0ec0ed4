// Command bench measures Patchbay and its peers side by side, in one run, and compares the results
// with the project's bars.
//
//	go run . [--quick] [--only SECTION,…] [--json] [--markdown FILE] [--program PATCHBAY] [--old PATCHBAY]
//	       [--source TREE] [--old-source TREE]
//
// It answers these questions: what a call to a plugin costs (sections call-300, call-64k,
// in-flight, allocs, python, mcp, sdk, faults), what a process and its sandbox cost (spawn,
// standby, hooks, sandbox-spawn, sandbox-connect, sandbox-bwrap), what starting costs (start,
// command), what a turn or a job costs (turns, turn-rate, turn-heap, jobs, job-heap), how large
// programs are (size, packages, and cold-build, which is measured only if --only names it), what a
// daemon with nothing to do uses (idle), and how a cost grows with the number of messages,
// sessions, keys, events or plugins (growth.go). Most sections about growth start a daemon and use
// it over HTTP (package drive). With --old they do the same with an older daemon, in turns.
// Micro-benchmarks are not here: they are Go benchmarks beside the code they measure. Numbers are
// not compared across machines or days: most bars are ratios between two things measured in turns,
// seconds apart, on the same processors. The others limit a size, a count or a time.
//
// In the sections call-300, call-64k, in-flight and allocs every contestant does the same work: it
// sends one JSON object, gets an object back, and compares the two. Most plugin processes are this
// program, executed again. The others are cat, programs in Python and JavaScript, and the small Go
// programs of programs.go.
//
// The flow:
//
//	main
//	├─ runChild            executed again as a contestant's plugin (BENCH_CHILD, or its file name)
//	├─ runSectionHere      executed again to measure one section, pinned to its processors
//	│  └─ section.measure  opens the contestants …
//	│     └─ roundRobin    … and lets them take turns, round after round
//	└─ run                 the command itself
//	   ├─ runSection       starts the process above, reads its series
//	   ├─ judge            each bar against the series of its section
//	   └─ report           Markdown or JSON; the exit code is 1 when a bar is missed beyond noise
//
// To add a contestant, write one file with a type that satisfies [Contestant] and the function its
// plugin process runs, and add one line to each list in contestant.go.
package main
