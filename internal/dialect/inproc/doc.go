// Package inproc is the dialect of plugins that are Go functions of the host's own process: those
// of a program that embeds Patchbay, or of its tests. They go through the same bus as all others,
// with priorities, deadlines, failures and a trace.
//
// What it is not: a protocol. There is no process and nothing to find; the program passes its
// plugins to the host.
package inproc
