package demo

// disk is a preflight that checks whether the disk has room for the job.
var disk = sample{file: "dotagent-plugin-disk", folder: dotagentFolder, run: calling(
	func(args []string, in map[string]any) any {
		if verb(args) == "info" {
			return map[string]any{"name": "disk", "version": "1.0.0", "kinds": []string{"preflight"}}
		}
		config, _ := in["config"].(map[string]any)
		if need, _ := config["need_gb"].(float64); need > 100 {
			return map[string]any{"ok": false, "error": "the disk is too full for this job", "suggest": "empty the bin, or ask for less than 100 GB"}
		}
		return map[string]any{"ok": true}
	})}

// diary is a sink and a notifier. It stores nothing: it only answers that it kept the message of a
// job.
var diary = sample{file: "dotagent-plugin-diary", folder: dotagentFolder, run: calling(
	func(args []string, in map[string]any) any {
		if verb(args) == "info" {
			return map[string]any{"name": "diary", "version": "1.0.0", "kinds": []string{"sink", "notify"}}
		}
		return map[string]any{"ok": true, "kept": in["message"]}
	})}

func verb(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
