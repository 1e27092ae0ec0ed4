//go:build !amd64

package rawjson

// blocks passes over whole blocks of 32 bytes, as long as no byte in them ends a plain run.
func blocks(data []byte) (n int, high uint64) { return blocksPortable(data) }
