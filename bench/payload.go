package main

// prose fills the payloads: plain text. With an escape in every line, as source code has, a 64 KiB
// call takes the wire longer; docs/performance.md has the figures.
const prose = `the quick brown fox jumps over the lazy dog while no one at all is looking. `

// Sizes of the payloads: the whole JSON object, without what a protocol wraps around it.
const (
	smallCall = 300
	largeCall = 64 << 10
)

// payloadOf returns a compact JSON object of exactly size bytes, with one string field. The field
// is called message because that is what the scaffold hook post_user_input carries, so that
// Host.Fire sends the very bytes its peers send.
func payloadOf(size int) []byte {
	const head, tail = `{"message":"`, `"}`
	text := make([]byte, 0, size)
	text = append(text, head...)
	for room := size - len(tail); len(text) < room; {
		text = append(text, prose[:min(len(prose), room-len(text))]...)
	}
	return append(text, tail...)
}
