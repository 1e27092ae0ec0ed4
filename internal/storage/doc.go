// Package storage keeps what plugins store: a key and a JSON value each, in a namespace of the plugin's own, across runs.
// It is a thin layer over the engine: what is a key and what is a value, and whose they are, is decided here; how they
// are kept, and that they survive, is the engine's part.
//
//	Bucket.Put
//	├─ checkKey, checkValue     bounds, UTF-8, valid JSON
//	└─ Store.opened             the engine, when the first plugin wants something kept
package storage
