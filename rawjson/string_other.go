//go:build !amd64

package rawjson

// plain returns the index of the first byte at or after i that ends a plain run, and the traits of
// the run.
func plain(data []byte, i int) (int, traits) { return plainWords(data, i) }

// skipRest passes over the rest of a string from data[i] on; t are its traits so far.
func skipRest(data []byte, i int, t traits) (int, traits, error) { return skipWords(data, i, t) }
