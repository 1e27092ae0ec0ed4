package dialect

import (
	"errors"
	"fmt"

	"github.com/patchbay-dev/patchbay/internal/document"
)

// maxProblems bounds a report. No author mends more in one go, and a file that is not a manifest at
// all can have thousands.
const maxProblems = 200

// Problems are what a manifest's reader complained of, in the order of the file, cut.
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

// NoManifest is why a file is no manifest at all.
func NoManifest(err error) []Problem {
	if e, ok := errors.AsType[*document.Error](err); ok {
		return Problems(e.Problems)
	}
	return []Problem{{Message: err.Error()}}
}
