// Package inproc is the dialect of plugins that are Go functions in the host's own process. A
// program that embeds Patchbay, or its tests, has such plugins. They go through the same bus as all
// other plugins, with priorities, deadlines, failures and a trace.
//
// Such plugins need no protocol and no process. There is nothing to find on disk: the program
// passes its plugins to the host.
package inproc
