package rawjson

import (
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestBothWidthsAgree: the two searches agree at every length and alignment around a few blocks.
func TestBothWidthsAgree(t *testing.T) {
	if !cpu.X86.HasAVX2 {
		t.Skip("this processor has no AVX2")
	}
	random := rand.New(rand.NewPCG(1, 2))
	special := []byte{'"', '\\', 0, 0x1F, 0x20, 0x7F, 0x80, 0xFF}
	for size := range 260 {
		for range 40 {
			data := make([]byte, size+size%5)[size%5:]
			for i := range data {
				data[i] = 'a' + byte(random.IntN(26))
				if random.IntN(80) == 0 {
					data[i] = special[random.IntN(len(special))]
				}
			}
			n1, before1, hits1, high1 := nextHitsSSE2(data)
			n2, before2, hits2, high2 := nextHitsAVX2(data)
			if n1 != n2 || (before1 != 0) != (before2 != 0) || hits1 != hits2 || high1 != high2 {
				t.Fatalf("%q: SSE2 %d %t %x %x, AVX2 %d %t %x %x", data, n1, before1 != 0, hits1, high1, n2, before2 != 0, hits2, high2)
			}
		}
	}
}
