package schema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxSteps limits the paths of all faults together. Without a limit, a value of some megabytes with
// faults deep inside could have gigabytes of paths.
const maxSteps = 1 << 20

// A report collects faults while a value is walked.
type report struct {
	steps  []step
	faults []Fault
	total  int // steps in the paths of all faults so far; see maxSteps
	bad    int // failures so far, including those without a message
	quiet  int // above 0: failures are counted without a message
}

// A step leads from a value to one inside it: the item of a list at an index, or the field with a
// name.
type step struct {
	item  bool
	index int
	name  string
}

func (r *report) enter(name string)   { r.steps = append(r.steps, step{name: name}) }
func (r *report) enterItem(index int) { r.steps = append(r.steps, step{index: index, item: true}) }
func (r *report) leave()              { r.steps = r.steps[:len(r.steps)-1] }

// fails counts a failure and reports whether it needs a message.
func (r *report) fails() bool {
	r.bad++
	return r.quiet == 0 && r.total < maxSteps
}

// add records a fault of the current value, or of one of its fields.
func (r *report) add(message string, field ...string) {
	r.faults = append(r.faults, Fault{append(r.at(), field...), message})
	r.total += len(r.steps) + 1
}

// fail is fails and add, for messages that are constant.
func (r *report) fail(message string) {
	if r.fails() {
		r.add(message)
	}
}

// failField is fail for a field of the current value.
func (r *report) failField(name, message string) {
	if r.fails() {
		r.add(message, name)
	}
}

// at returns the path to the current value.
func (r *report) at() []string {
	at := make([]string, 0, len(r.steps)+1)
	for _, s := range r.steps {
		if s.item {
			at = append(at, strconv.Itoa(s.index))
		} else {
			at = append(at, s.name)
		}
	}
	return at
}

// silently runs a check whose failures are not reported. It returns true if there were none.
func (r *report) silently(check func()) bool {
	bad := r.bad
	r.quiet++
	check()
	r.quiet--
	ok := r.bad == bad
	r.bad = bad
	return ok
}

// aside runs a check and takes its faults out of the report.
func (r *report) aside(check func()) (ok bool, faults []Fault) {
	bad, mark := r.bad, len(r.faults)
	check()
	ok, faults = r.bad == bad, slices.Clone(r.faults[mark:])
	r.bad, r.faults = bad, r.faults[:mark]
	return ok, faults
}

// either fails if none of the checks succeeds.
func (r *report) either(checks ...func()) {
	var all [][]Fault
	for _, check := range checks {
		ok, faults := r.aside(check)
		if ok {
			return
		}
		all = append(all, faults)
	}
	r.failForms(all)
}

// failForms reports a value that fits none of several schemas, from the faults that each of them
// found. If the value itself fits one of them and only something inside it does not, the faults of
// that one are reported. Otherwise one message lists the faults of all schemas.
func (r *report) failForms(forms [][]Fault) {
	if !r.fails() {
		return
	}
	depth := len(r.steps)
	var best []Fault
	var all []string
	for _, faults := range forms {
		slices.SortFunc(faults, byPlace)
		deeper := !slices.ContainsFunc(faults, func(f Fault) bool { return len(f.At) <= depth })
		if deeper && (best == nil || len(faults) < len(best)) {
			best = faults
		}
		for _, f := range faults {
			if !slices.Contains(all, f.Message) {
				all = append(all, f.Message)
			}
		}
	}
	if best != nil {
		r.faults = append(r.faults, best...)
		return
	}
	r.add(shorten(strings.Join(all, ", or ")))
}

// byPlace orders faults by their paths, since the order of a Go map varies.
func byPlace(a, b Fault) int {
	return cmp.Or(slices.Compare(a.At, b.At), strings.Compare(a.Message, b.Message))
}
