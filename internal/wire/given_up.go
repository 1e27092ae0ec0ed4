package wire

// maxGivenUp limits the ids that a connection remembers. Far fewer calls time out before their
// replies arrive.
const maxGivenUp = 1024

// givenUp remembers the calls that were given up, so that their replies are recognised as late.
// New ids replace the oldest.
type givenUp struct {
	ids  []uint64 // 0: an empty place
	next int      // the place to fill next, once there are maxGivenUp
}

func (f *givenUp) add(id uint64) {
	if len(f.ids) < maxGivenUp {
		f.ids = append(f.ids, id)
		return
	}
	f.ids[f.next] = id
	f.next = (f.next + 1) % maxGivenUp
}

// take reports whether the id was there, and removes it: a call can be late only once.
func (f *givenUp) take(id uint64) bool {
	for i, have := range f.ids {
		if have == id && id != 0 {
			f.ids[i] = 0
			return true
		}
	}
	return false
}
