// Package command takes any command of any program through four points: command.validate,
// command.before, the command itself, command.after, command.done. Plugins may rewrite its
// arguments, answer in its place, and transform its result.
//
//	Pipeline.Run          pipeline.go
//	  command.validate    arguments as typed
//	  Program.Parse
//	  command.before      arguments as they will be used
//	  Program.Execute
//	  command.after       the result, before it is shown
//	  Program.Show
//	  command.done        everybody is told, and waited for
//
// It knows no shell, no terminal and no argument parser; package cobracmd wraps the commands of a
// Cobra program, and the patchbay command wraps any program.
package command
