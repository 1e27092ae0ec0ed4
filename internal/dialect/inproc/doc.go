// Package inproc is the dialect of plugins that are functions of the process itself: an embedding
// program's own, or those of its tests. They go through the same bus as all others, with
// priorities, deadlines, failures and a trace. There is no protocol, no process and nothing to
// find: a program hands them to the host.
package inproc
