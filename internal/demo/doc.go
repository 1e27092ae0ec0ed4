// Package demo shows what Patchbay does, on a machine with only the patchbay binary. It sends one
// turn of an agent, one wrapped command and one job through plugins of every dialect, and draws
// what each plugin changes.
//
// Only the model, which plays a script, and the wrapped program are simulated. The agent is the one
// of `patchbay chat`. The sample plugins are real processes: the patchbay binary itself, linked
// under their names into a temporary home, where it is found like any plugin. If there is a Python,
// a Python file is one more plugin. The samples are also the smallest complete plugins to read.
//
//	Run                demo.go     a home, a host, the scenes
//	  makeHome         home.go     links the samples into their dialects' folders
//	  turn             turn.go     a turn of the agent, with a scripted model
//	    telling        telling.go  the messages, and a scene for each point
//	  command, job     scenes.go   a command and a job
//	Sample             sample.go   which sample plugin this process has to be
package demo
