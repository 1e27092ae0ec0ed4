package rawjson

// blocks passes over whole blocks of 32 bytes, as long as no byte in them ends a plain run. It returns how many bytes
// that were, and whether any was above 0x7F, as a high bit of high. It does what blocksPortable does, three times as
// fast: on a large payload nothing else takes as long as this search.
//
//go:noescape
func blocks(data []byte) (n int, high uint64)
