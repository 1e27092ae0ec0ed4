// Package demo shows what Patchbay does, on a machine with nothing but the patchbay binary: one
// agent turn, one wrapped command and one job through plugins of every dialect, each step drawn
// with who changed what.
//
// Nothing is faked but the model, which plays a script, and the wrapped program. The agent is the
// one of `patchbay chat`. The sample plugins are real processes: the patchbay binary itself, linked
// under their names into a temporary home and found there like anybody's, and a Python file where
// there is a Python. They are also the smallest complete plugins to read.
//
//	Run                demo.go     a home, a host, the scenes
//	  furnish          home.go     links the samples into their dialects' folders
//	  turn             turn.go     a turn of the agent, the model scripted
//	    telling        telling.go  what is said, and one scene a point
//	  command, job     scenes.go   a command and a job
//	Sample             sample.go   the other side: which plugin this process is
package demo
