package demo

import "encoding/json"

// binaryGrant is a placeholder in a manifest. It stands for the capability to run the patchbay
// binary, to which the sample is a link.
const binaryGrant = "BINARY"

// notebook remembers where a session left off.
var notebook = sample{file: "patchbay-demo-notebook", folder: kagedFolder + "notebook", run: serving(
	func(method string, _ json.RawMessage) (any, error) {
		switch method {
		case "initialize":
			return map[string]any{"name": "notebook", "version": "1.0.0", "api_version": 1,
				"methods": []string{"notebook.page.count"}, "notifications": []string{}, "capabilities_used": []string{}}, nil
		case "health.check", "shutdown":
			return map[string]any{"ok": true}, nil
		case "kaged.hook.on_session_start":
			return map[string]any{"inject": "Last time: you were counting words in notes.md."}, nil
		case "notebook.page.count":
			return map[string]any{"pages": 1}, nil
		}
		return nil, unknown(method)
	})}

var notebookManifest = file{kagedFolder + "notebook", "manifest.yaml", `name: notebook
version: 1.0.0
kaged_api: 1
description: Remembers where you left off
command: ["./patchbay-demo-notebook"]
hooks: [on_session_start]
methods: [notebook.page.count]
capabilities: [` + binaryGrant + `]
`}
