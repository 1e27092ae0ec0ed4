// Package storage stores the keys and JSON values of plugins, each plugin in its own namespace,
// across runs. It is a thin layer over the engine: it checks keys and values, separates plugins and
// enforces quotas. The engine stores the values durably.
//
//	Bucket.Put
//	├─ entry.CheckKey, entry.CheckValue  bounds, UTF-8, valid JSON
//	└─ Bucket.change                     one change of a plugin at a time in this process
//	   ├─ Store.openBucket               opens the engine when it is first used
//	   │  └─ moveOldLayout               once for each bucket: moves keys of an earlier layout (layout.go)
//	   └─ Bucket.put                     reads the old value, then
//	      ├─ Bucket.reserve              reserves quota, on a record that all processes share (quota.go)
//	      └─ engine.Bucket               writes the value if the old one is still there
package storage
