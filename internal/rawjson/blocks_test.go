package rawjson

import (
	"bytes"
	"testing"
)

// Every byte value, at every place of three blocks: both ways to search stop at the same place and see the same.
func TestBlocksAgree(t *testing.T) {
	for length := range 100 {
		for at := range length {
			for c := range 256 {
				data := bytes.Repeat([]byte{'a'}, length)
				data[at] = byte(c)
				n, high := blocks(data)
				want, wantHigh := blocksPortable(data)
				if n != want || (high&highs != 0) != (wantHigh&highs != 0) {
					t.Fatalf("blocks(%q) = %d, %x; portable %d, %x", data, n, high, want, wantHigh)
				}
			}
		}
	}
}
