// Package attach puts files of a project, and the output of commands, into a message to the agent.
//
// A message mentions a file as @path, or as @"a path" if the path has spaces. [Compose] reads the
// mentioned files and puts them below the message, each in a frame that the file's own text cannot
// end. Files that cannot be attached are reported, and the message stays as it was written. Nothing
// outside of the working directory is read.
//
// The package knows neither terminal nor model. The program that sends the message calls it first,
// so that plugins and the transcript get the same text.
//
//	Compose
//	  find, read    attach.go: one file, regular, text, bounded
//	  File          frame.go
//	Mentions        mention.go: the @ words of a message
//	Fold            frame.go: a message with each frame shortened to one line, for a screen
//	List            list.go: paths to choose from while the user types
package attach
