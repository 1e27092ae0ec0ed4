// Package inproc is the dialect of plugins that are Go functions of the host's own process: those
// of a program that embeds Patchbay, or of its tests. They go through the same bus as all others,
// with priorities, deadlines, failures and a trace.
//
// Such plugins need no protocol and no process. There is nothing to find on disk: the program
// passes its plugins to the host.
package inproc
