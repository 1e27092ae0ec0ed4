// Package attach puts files of a project, and the output of commands, into a message to the agent.
//
// A message mentions a file as @path, or as @"a path" where it has spaces. [Compose] reads the
// files that are mentioned and puts them below the message, each in a frame that its own text
// cannot end. What cannot be attached is told, and the message stays as it was written. Nothing
// outside of the working directory is read.
//
// It knows neither terminal nor model: who sends the message calls it, so that plugins and the
// transcript have the same text.
//
//	Compose
//	  Mentions      mention.go: the @ words of a message
//	  reader.read   attach.go: one file, regular, text, bounded
//	  Frame         frame.go
//	Fold            frame.go: a message with its frames closed, for a screen
//	List            list.go: paths to choose from while somebody types
package attach
