// Package hookinstall writes Patchbay's hooks into the configuration files of other agents, removes
// them again, and reports which are there. All other bytes of such a file stay as they are.
//
//	Find         returns the file of an agent, for the user or for a project
//	Install      writes an entry for each event that package codehook knows
//	Uninstall    removes these entries
//	Inspect      lists the entries, the programs that they start, and mistakes
//	All          inspects the files of every agent, and finds settings that turn hooks off
//	Probe        runs the program of an entry as the agent would
package hookinstall
