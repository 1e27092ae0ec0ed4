// Package storage keeps what plugins store: a key and a JSON value each, in a namespace of the
// plugin's own, across runs. It is a thin layer over the engine: what is a key and what is a value,
// and whose they are, is decided here; how they are kept, and that they survive, is the engine's
// part.
//
//	Bucket.Put
//	├─ entry.Check…            bounds, UTF-8, valid JSON
//	├─ Store.openBucket           the engine, when the first plugin wants something kept
//	│  └─ moveOldLayout             once a bucket: keys of an earlier layout (layout.go)
//	└─ Bucket.change            one change of a plugin at a time in this process
//	   └─ Bucket.put            the value it replaces, then
//	      ├─ Bucket.reserve      the plugin's room, on a record that all processes share (quota.go)
//	      └─ engine.Bucket      the value, where the one before it is still there
package storage
