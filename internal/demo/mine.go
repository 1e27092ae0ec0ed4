package demo

import "strings"

// tagger adds a flag to every git command, and writes the first letter of its output in upper case.
var tagger = sample{file: "mine-plugin-tagger", folder: mineFolder + "tagger", run: calling(
	func(_ []string, in map[string]any) any {
		context, _ := in["context"].(map[string]any)
		switch in["stage"] {
		case "preexec":
			args, _ := context["args"].([]any)
			context["args"] = append(args, "--signoff")
		case "postexec":
			result, _ := context["result"].(map[string]any)
			text, _ := result["stdout"].(string)
			if text != "" {
				text = strings.ToUpper(text[:1]) + text[1:]
			}
			context["result"] = map[string]any{"stdout": text, "stderr": "", "exit_code": 0}
		}
		return map[string]any{"status": "ok", "context": context}
	})}

var taggerManifest = file{mineFolder + "tagger", "mine-plugin.toml", `[plugin]
name = "tagger"
version = "1.0.0"
description = "Signs off commits"
author = "Patchbay"
protocol_version = "1.0.0"

[[hooks]]
command = "git"
stage = "preexec"
mode = "transform"

[[hooks]]
command = "git"
stage = "postexec"
mode = "transform"

[[hooks]]
command = "*"
stage = "notify"
mode = "notify"
`}
