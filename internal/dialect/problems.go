package dialect

import (
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// maxProblems limits a report. No author fixes more at a time, and a file that is not a manifest
// can have thousands.
const maxProblems = 200

// Problems converts the complaints about a manifest, in the order of the file, and leaves out those
// over maxProblems.
func Problems(list []document.Problem) []Problem {
	var out []Problem
	for i, p := range list {
		if i == maxProblems {
			p.Message, p.Fix = fmt.Sprintf("and %d more from here on", len(list)-i), ""
		}
		if i > maxProblems {
			break
		}
		out = append(out, Problem{Path: p.File, Line: p.Line, Column: p.Column, Message: p.Message, Fix: p.Fix})
	}
	return out
}

// NoManifest returns the problems of a file that cannot be parsed as a manifest.
func NoManifest(err error) []Problem {
	if e, ok := errors.AsType[*document.Error](err); ok {
		return Problems(e.Problems)
	}
	return []Problem{{Message: err.Error()}}
}
