package rawjson

import "encoding/json"

// List returns the JSON list of items, which must be valid JSON.
func List(items []json.RawMessage) json.RawMessage {
	size := 2
	for _, item := range items {
		size += len(item) + 1
	}
	list := append(make([]byte, 0, size), '[')
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}
