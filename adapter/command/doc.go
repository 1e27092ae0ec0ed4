// Package command calls plugins at four points of a command, of any program: command.validate,
// command.before, command.after and command.done. Plugins may rewrite the arguments, answer instead
// of the command, and transform its result.
//
//	Pipeline.Run          pipeline.go
//	  command.validate    arguments as typed
//	  Program.Parse
//	  command.before      arguments as they will be used
//	  Program.Execute
//	  command.after       the result, before it is shown
//	  Program.Show
//	  command.done        reports the end to plugins, and waits for them
//
// The package knows no shell, no terminal and no argument parser. Package cobracmd wraps the
// commands of a Cobra program, and the patchbay command wraps any program.
package command
