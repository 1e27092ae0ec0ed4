package main

// prose fills the payloads. It is plain text: with an escape in every line, as in source code, a 64
// KiB call on the wire takes longer (docs/performance.md has the figures).
const prose = `the quick brown fox jumps over the lazy dog while no one at all is looking. `

// Sizes of the payloads: the whole JSON object, without what a protocol wraps around it.
const (
	smallCall = 300
	largeCall = 64 << 10
)

// payloadOf returns a compact JSON object of exactly size bytes, with one string field. The field
// is called message, as in the scaffold hook post_user_input, so that Host.Fire sends the same
// bytes as its peers.
func payloadOf(size int) []byte {
	const head, tail = `{"message":"`, `"}`
	text := make([]byte, 0, size)
	text = append(text, head...)
	for room := size - len(tail); len(text) < room; {
		text = append(text, prose[:min(len(prose), room-len(text))]...)
	}
	return append(text, tail...)
}
