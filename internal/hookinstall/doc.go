// Package hookinstall writes Patchbay into the configuration files of other agents, takes it out
// again, and tells what is there. Every byte of such a file that is not Patchbay's stays as it is.
//
//	Find         the file of an agent, of the user or of a project
//	Install      an entry for each event that package codehook knows
//	Uninstall    none of them
//	Inspect      which are there, what they start, and what is odd about them
//
// It does not run what it writes; see `patchbay hook status`.
package hookinstall
