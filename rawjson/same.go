package rawjson

import "bytes"

// Same tells whether two compact JSON values mean the same, without decoding them. It goes through both at once: where they differ in
// how strings are escaped, and in nothing else, they are the same. Numbers are compared as they are written.
//
// It is not sure of two that differ and have objects in them: keys may be there in another order, or twice.
func Same(a, b []byte) (same, sure bool) {
	i, j := 0, 0
	for i < len(a) && j < len(b) && a[i] == b[j] {
		if a[i] != '"' {
			i++
			j++
			continue
		}
		endA, traitsA, errA := skipString(a, i)
		endB, traitsB, errB := skipString(b, j)
		if errA != nil || errB != nil || !sameString(a[i:endA], b[j:endB], traitsA|traitsB) {
			break
		}
		i, j = endA, endB
	}
	if i == len(a) && j == len(b) {
		return true, true
	}
	return false, bytes.IndexByte(a, '{') < 0 && bytes.IndexByte(b, '{') < 0
}

// sameString compares two strings, with their quotes, of these traits together.
func sameString(a, b []byte, t traits) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if t == 0 {
		return false
	}
	x, _ := Unquote(a)
	y, _ := Unquote(b)
	return x == y
}
