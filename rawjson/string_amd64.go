package rawjson

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

// In a large payload, most of the time goes into searching for the ends of strings. This search
// reads blocks of 64 bytes, which is several times as fast as reading words. The last bytes, fewer
// than 64, are searched word by word.

const block = 64

// nextHits searches, block by block, for bytes that end a plain run: a quote, a backslash or a
// control character. n is the start of the first block with such a byte. hits has a bit for each
// such byte of that block. high has a bit for each byte of that block above 0x7F. before is not 0
// if there are bytes above 0x7F before n. If no whole block has such a byte, hits is 0, and n is
// the start of the remaining bytes.
func nextHits(data []byte) (n int, before, hits, high uint64) {
	if cpu.X86.HasAVX2 {
		return nextHitsAVX2(data)
	}
	return nextHitsSSE2(data)
}

//go:noescape
func nextHitsAVX2(data []byte) (n int, before, hits, high uint64)

//go:noescape
func nextHitsSSE2(data []byte) (n int, before, hits, high uint64)

// plain returns the index of the first byte at or after i that ends a plain run, and the traits of
// the run.
func plain(data []byte, i int) (int, traits) {
	n, before, hits, high := nextHits(data[i:])
	i += n
	if hits != 0 {
		n := bits.TrailingZeros64(hits)
		return i + n, someHigh(before | high&(1<<n-1))
	}
	end, t := plainWords(data, i)
	return end, t | someHigh(before)
}

// skipRest passes over the rest of a string from data[i] on; t are its traits so far. It passes
// over the escapes of a block one by one, without a new search.
func skipRest(data []byte, i int, t traits) (int, traits, error) {
	for {
		n, before, hits, high := nextHits(data[i:])
		i, t = i+n, t|someHigh(before)
		if hits == 0 {
			return skipWords(data, i, t)
		}
		next := i + block
		for ; hits != 0; t |= escaped {
			n := bits.TrailingZeros64(hits)
			if data[i+n] == '"' {
				return i + n + 1, t | someHigh(high&(1<<n-1)), nil
			}
			size, err := escape(data, i+n)
			if err != nil {
				return i + n, t, err
			}
			next = max(next, i+n+size) // an escape may reach into the next block
			hits &^= 3 << n            // the character after the backslash does not end the run, even if it looks like it
		}
		i, t = next, t|someHigh(high)
	}
}

// someHigh returns the trait for bytes above 0x7F, if there are any.
func someHigh(high uint64) traits {
	if high != 0 {
		return highs
	}
	return 0
}
