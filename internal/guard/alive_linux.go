package guard

import "os"

// Alive returns the running processes that have one of the marks.
func Alive(marks ...Mark) []int {
	var found []int
	for _, pid := range processes() {
		limit, ok := limitOf(pid)
		if ok && pid != os.Getpid() && hasAny(limit, marks) && !finished(pid) {
			found = append(found, pid)
		}
	}
	return found
}

func hasAny(limit uint64, marks []Mark) bool {
	for _, m := range marks {
		if m.On(limit) {
			return true
		}
	}
	return false
}
