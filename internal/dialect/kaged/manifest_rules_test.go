package kaged_test

import (
	"strings"
	"testing"
)

// These tests have one subtest for each rule of the manifest: docs/protocols/kaged.md, rows K37 to
// K46. The rules of knobs are in knob_test.go, those of YAML in manifest_yaml_test.go.

func TestIdentity(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "name is required", line: 1, text: "", problems: []string{
			"2:1: name: is required; write name: …"}},
		{rule: "name must be a string", line: 1, text: "name: 7", problems: []string{
			`1:7: name: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "name must not be empty", line: 1, text: `name: ""`, problems: []string{
			"1:7: name: must not be empty; write something"}},
		{rule: "name may have 64 characters", line: 1, text: "name: " + strings.Repeat("a", 64)},
		{rule: "name must not have more", line: 1, text: "name: " + strings.Repeat("a", 65), problems: []string{
			"1:7: name: must have at most 64 characters, has 65"}},
		{rule: "name is lowercase", line: 1, text: "name: Tiny", problems: []string{
			`1:7: name: must be lowercase letters, digits and hyphens, a letter first, got "Tiny"`}},
		{rule: "name is not one of the host's: kaged", line: 1, text: "name: kaged", problems: []string{
			"1:7: name: must not be kaged: methods that begin with kaged. are the host's"}},
		{rule: "name is not one of the host's: system", line: 1, text: "name: system", problems: []string{
			"1:7: name: must not be system: methods that begin with system. are the host's"}},
		{rule: "name begins with a letter", line: 1, text: "name: 1tiny", problems: []string{
			`1:7: name: must be lowercase letters, digits and hyphens, a letter first, got "1tiny"`}},
		{rule: "version is required", line: 2, text: "", problems: []string{
			"1:1: version: is required; write version: …"}},
		{rule: "version written as a number is not a string", line: 2, text: "version: 1.0", problems: []string{
			`2:10: version: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "version must not be empty", line: 2, text: "version: ''", problems: []string{
			"2:10: version: must not be empty; write something"}},
		{rule: "version has three parts", line: 2, text: `version: "1.0"`, problems: []string{
			`2:10: version: must be a semantic version such as 1.2.3, got "1.0"`}},
		{rule: "version has no zeros in front", line: 2, text: "version: 1.02.0", problems: []string{
			`2:10: version: must be a semantic version such as 1.2.3, got "1.02.0"`}},
		{rule: "version has no v in front", line: 2, text: "version: v1.2.3", problems: []string{
			`2:10: version: must be a semantic version without a "v" in front, got "v1.2.3"`}},
		{rule: "version may have a pre-release and a build", line: 2, text: "version: 1.2.3-alpha.1+x.07"},
		{rule: "kaged_api is required", line: 3, text: "", problems: []string{
			"1:1: kaged_api: is required; write kaged_api: …"}},
		{rule: "kaged_api must be a number", line: 3, text: `kaged_api: "1"`, problems: []string{
			"3:12: kaged_api: must be a whole number, got a string; leave out the quotes"}},
		{rule: "kaged_api must be whole", line: 3, text: "kaged_api: 1.5", problems: []string{
			`3:12: kaged_api: must be a whole number, got "1.5"`}},
		{rule: "kaged_api may be written 1.0", line: 3, text: "kaged_api: 1.0"},
		{rule: "kaged_api must be positive", line: 3, text: "kaged_api: 0", problems: []string{
			"3:12: kaged_api: must be greater than 0, got 0"}},
		{rule: "kaged_api must be the host's", line: 3, text: "kaged_api: 2", problems: []string{
			"3:12: kaged_api: the plugin needs version 2 of the plugin API, this host speaks 1"}},
		{rule: "description is required", line: 4, text: "", problems: []string{
			"1:1: description: is required; write description: …"}},
		{rule: "description must not be empty", line: 4, text: `description: ""`, problems: []string{
			"4:14: description: must not be empty; write something"}},
		{rule: "a field without a value is not a string", line: 4, text: "description:", problems: []string{
			"4:1: description: must be a string, got nothing; write a string"}},
		{rule: "description counts characters, not bytes", line: 4, text: "description: " + strings.Repeat("é", 200)},
		{rule: "description must not have more than 200", line: 4, text: "description: " + strings.Repeat("é", 201), problems: []string{
			"4:14: description: must have at most 200 characters, has 201"}},
		{rule: "author must be a string", text: "author: [Mira]", problems: []string{
			"7:9: author: must be a string, got a list; write a string"}},
		{rule: "license must be a string", text: "license: {spdx: MIT}", problems: []string{
			"7:10: license: must be a string, got a mapping; write a string"}},
		{rule: "homepage must be a string", text: "homepage: true", problems: []string{
			`7:11: homepage: must be a string, got a boolean; put it into quotes: "…"`}},
		{rule: "homepage must be a URL", text: "homepage: example.org/tiny", problems: []string{
			`7:11: homepage: must be a URL such as https://example.org/plugin, got "example.org/tiny"`}},
		{rule: "homepage may be any URL", text: "homepage: git+ssh://git@example.org/tiny.git"},
		{rule: "homepage may be a URL without a host", text: "homepage: mailto:mira@example.org"},
	})
}

func TestProcess(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "command is required", line: 5, text: "", problems: []string{
			"1:1: command: is required; write command: …"}},
		{rule: "command must be a list", line: 5, text: "command: ./tiny --flag", problems: []string{
			"5:10: command: must be a list of strings, got a string; put it into brackets: […]"}},
		{rule: "command has at least one entry", line: 5, text: "command: []", problems: []string{
			"5:10: command: must have at least one entry: the program"}},
		{rule: "command is of strings", line: 5, text: "command: [./tiny, 8080]", problems: []string{
			`5:19: command[1]: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "the program is not empty", line: 5, text: `command: ["", x]`, problems: []string{
			"5:11: command[0]: must not be empty"}},
		{rule: "an argument may be empty", line: 5, text: `command: [./tiny, ""]`},
		{rule: "command has no NUL", line: 5, text: `command: ["./tiny\0"]`, problems: []string{
			"5:11: command[0]: must not contain a NUL character"}},
		{rule: "a list entry may not be left out", line: 5, text: "command:\n  - ./tiny\n  -", problems: []string{
			"7:3: command[1]: must be a string, got nothing; write a string"}},
		{rule: "env must be a mapping", text: "env: [A=b]", problems: []string{
			"7:6: env: must be a mapping of names to strings, got a list; put a key before each value: { KEY: … }"}},
		{rule: "env is of strings", text: "env:\n  PORT: 8080\n  DEBUG: true\n  HOME: ~", problems: []string{
			`8:9: env.PORT: must be a string, got a number; put it into quotes: "…"`,
			`9:10: env.DEBUG: must be a string, got a boolean; put it into quotes: "…"`,
			"10:9: env.HOME: must be a string, got nothing; write a string"}},
		{rule: "env has no odd names", text: "env:\n  \"A=B\": c\n  \"\": d", problems: []string{
			`8:3: env["A=B"]: the name of a variable must not be empty nor contain "="`,
			`9:3: env[""]: the name of a variable must not be empty nor contain "="`}},
		{rule: "env has no NUL", text: `env: {A: "b\0"}`, problems: []string{
			"7:10: env.A: must not contain a NUL character"}},
	})
}

func TestCapabilitiesOfAManifest(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "capabilities must be a list", text: "capabilities: net:*", problems: []string{
			"7:15: capabilities: must be a list of strings, got a string; put it into brackets: […]"}},
		{rule: "capabilities are strings", text: "capabilities: [{net: all}]", problems: []string{
			"7:16: capabilities[0]: must be a string, got a mapping; write a string"}},
		{rule: "each capability must parse", text: "capabilities:\n  - read:fs:/srv\n  - read:fs:notes\n  - fly", problems: []string{
			`9:5: capabilities[1]: capability "read:fs:notes": the path must be absolute: begin with /, got "notes"`,
			`10:5: capabilities[2]: capability "fly": expected read:fs:<path>, write:fs:<path>, exec:<binary>:<path>, ` +
				`net:<host>:<port>, net:<host>:*, net:*, net:[], kaged:storage:read or kaged:storage:write`}},
		{rule: "net:[] contradicts any other net", text: "capabilities:\n  - net:[]\n  - net:example.org:443", problems: []string{
			"8:5: capabilities[0]: net:[] denies all network access, capabilities[1] grants some"}},
		{rule: "net:[] alone is fine", text: "capabilities:\n  - net:[]\n  - kaged:storage:read"},
	})
}

func TestInterfaces(t *testing.T) {
	const form = "must be 2 to 4 lowercase segments with dots between, such as notes.search, got "
	runManifestCases(t, []manifestCase{
		{rule: "methods must be a list", line: 6, text: "methods: tiny.run", problems: []string{
			"6:10: methods: must be a list of strings, got a string; put it into brackets: […]"}},
		{rule: "a method is a string", line: 6, text: "methods: [5]", problems: []string{
			`6:11: methods[0]: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "a method has two segments at least", line: 6, text: "methods: [run]", problems: []string{
			"6:11: methods[0]: " + form + `"run"`}},
		{rule: "a method has four segments at most", line: 6, text: "methods: [a.b.c.d, a.b.c.d.e]", problems: []string{
			"6:20: methods[1]: " + form + `"a.b.c.d.e"`}},
		{rule: "a method is lowercase", line: 6, text: "methods: [tiny.Run]", problems: []string{
			"6:11: methods[0]: " + form + `"tiny.Run"`}},
		{rule: "a method has no empty segment", line: 6, text: "methods: [tiny..run]", problems: []string{
			"6:11: methods[0]: " + form + `"tiny..run"`}},
		{rule: "a method may have digits, hyphens and underscores", line: 6, text: "methods: [tiny-2.run_all]"},
		{rule: "a method must not start with kaged.", line: 6, text: "methods: [kaged.run]", problems: []string{
			"6:11: methods[0]: must not start with kaged. or system.: these prefixes are reserved"}},
		{rule: "a method must not start with system.", line: 6, text: "methods: [system.run.all]", problems: []string{
			"6:11: methods[0]: must not start with kaged. or system.: these prefixes are reserved"}},
		{rule: "a method may begin with the same letters", line: 6, text: "methods: [kagedx.run, systems.run]"},
		{rule: "a method declared twice is a warning", line: 6, text: "methods: [a.b, a.b]", warnings: []string{
			"6:16: methods[1]: repeats methods[0]"}},
		{rule: "methods may be empty beside hooks", line: 6, text: "methods: []\nhooks: [on_session_start]"},
		{rule: "methods may be missing beside tools", line: 6,
			text: "tools: [{name: t, description: d, parameters_schema: {}}]"},
		{rule: "no method, hook or tool at all is a violation", line: 6, text: "", problems: []string{
			"1:1: methods: a plugin must have at least one method, hook or tool"}},
		{rule: "empty lists of them are a violation too", line: 6, text: "hooks: []\nmethods: []\ntools: []", problems: []string{
			"7:10: methods: a plugin must have at least one method, hook or tool"}},
		{rule: "a notification is not empty", text: `notifications: [indexed, ""]`, problems: []string{
			"7:26: notifications[1]: must not be empty; write something"}},
		{rule: "the reserved prefixes do not bind notifications", text: "notifications: [kaged.done]"},
	})
}

func TestHooksAndRoles(t *testing.T) {
	const hooks = "must be one of on_session_start, on_session_idle, pre_compact, post_compact, got "
	runManifestCases(t, []manifestCase{
		{rule: "hooks must be a list", text: "hooks: pre_compact", problems: []string{
			"7:8: hooks: must be a list of strings, got a string; put it into brackets: […]"}},
		{rule: "a hook must be known", text: "hooks: [on_shutdown]", problems: []string{
			"7:9: hooks[0]: " + hooks + `"on_shutdown"; write one of them`}},
		{rule: "a hook that is nearly known is guessed", text: "hooks: [on_sesion_start]", problems: []string{
			"7:9: hooks[0]: " + hooks + `"on_sesion_start"; did you mean "on_session_start"?`}},
		{rule: "a hook is there once", text: "hooks: [pre_compact, post_compact, pre_compact]", problems: []string{
			"7:36: hooks[2]: repeats hooks[0]"}},
		{rule: "a role must be known", text: "roles: [spectator]", problems: []string{
			`7:9: roles[0]: must be one of observer, compactor, got "spectator"; write one of them`}},
		{rule: "a role is there once", text: "roles: [observer, observer]", problems: []string{
			"7:19: roles[1]: repeats roles[0]"}},
		{rule: "a compactor needs pre_compact", text: "hooks: [post_compact]\nroles: [observer, compactor]", problems: []string{
			"8:19: roles[1]: a compactor needs pre_compact in hooks"}},
		{rule: "a compactor with pre_compact is fine", text: "hooks: [pre_compact]\nroles: [compactor]"},
	})
}

func TestTools(t *testing.T) {
	tools := func(yaml string) string { return "tools:\n" + yaml }
	const good = "\n    description: d\n    parameters_schema: {type: object}"
	const name = "must be one segment of lowercase letters, digits, _ and -, a letter first, got "
	runManifestCases(t, []manifestCase{
		{rule: "tools must be a list", text: "tools: {}", problems: []string{
			"7:8: tools: must be a list of tools, got a mapping; write a list"}},
		{rule: "a tool is a mapping", text: tools("  - find"), problems: []string{
			"8:5: tools[0]: must be a mapping with name, description and parameters_schema, got a string; put a key before each value: { KEY: … }"}},
		{rule: "a tool's fields are required", text: tools("  - {}"), problems: []string{
			"8:5: tools[0].name: is required; write name: …",
			"8:5: tools[0].description: is required; write description: …",
			"8:5: tools[0].parameters_schema: is required; write parameters_schema: …"}},
		{rule: "a tool's name is a string", text: tools("  - name: 1" + good), problems: []string{
			`8:11: tools[0].name: must be a string, got a number; put it into quotes: "…"`}},
		{rule: "a tool's name is one segment", text: tools("  - name: tiny.find" + good), problems: []string{
			"8:11: tools[0].name: " + name + `"tiny.find"`}},
		{rule: "a tool's name is lowercase", text: tools("  - name: Find" + good), problems: []string{
			"8:11: tools[0].name: " + name + `"Find"`}},
		{rule: "a tool's name is its own", text: tools("  - name: a" + good + "\n  - name: a" + good), problems: []string{
			"11:11: tools[1].name: repeats tools[0].name"}},
		{rule: "a tool's description is not empty",
			text: tools("  - name: a\n    description: ''\n    parameters_schema: {}"), problems: []string{
				"9:18: tools[0].description: must not be empty; write something"}},
		{rule: "a tool's parameters are a mapping",
			text: tools("  - name: a\n    description: d\n    parameters_schema: object"), problems: []string{
				"10:24: tools[0].parameters_schema: must be a mapping: a JSON Schema, got a string; put a key before each value: { KEY: … }"}},
		{rule: "a tool's unknown key is a warning", text: tools("  - name: a\n    parameter_schema: {}" + good), warnings: []string{
			`9:5: tools[0].parameter_schema: unknown key, ignored; did you mean "parameters_schema"?`}},
	})
}

func TestSchemasOfAManifest(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "config_schema must be a mapping", text: "config_schema: true", problems: []string{
			"7:16: config_schema: must be a mapping: a JSON Schema, got a boolean; put a key before each value: { KEY: … }"}},
		{rule: "a schema must be valid against its draft",
			text: "config_schema:\n  type: objekt\n  properties:\n    a:\n      minLength: -1", problems: []string{
				`8:9: config_schema.type: must be one of "array", "boolean", "integer", "null", "number", "object", "string", or must be of type array, is string`,
				"11:18: config_schema.properties.a.minLength: must be at least 0"}},
		{rule: "a schema of an older draft is read by the rules of that draft",
			text: "config_schema:\n  $schema: http://json-schema.org/draft-07/schema#\n  definitions: {a: {}}\n  $ref: '#/definitions/a'"},
		{rule: "a reference must not lead to a file",
			text: "config_schema: {properties: {a: {$ref: 'file:///etc/passwd'}}}", problems: []string{
				`7:40: config_schema.properties.a.$ref: refers to "file:///etc/passwd", outside of the schema, which must be self-contained`}},
		{rule: "a reference must not lead to the network",
			text: "config_schema: {$ref: 'https://example.org/schema.json#/a'}", problems: []string{
				`7:23: config_schema.$ref: refers to "https://example.org/schema.json#/a", outside of the schema, which must be self-contained`}},
		{rule: "a relative reference must not lead to another file",
			text: "config_schema: {allOf: [{$ref: other.json}]}", problems: []string{
				`7:32: config_schema.allOf[0].$ref: refers to "other.json", outside of the schema, which must be self-contained`}},
		{rule: "$schema must not name an unknown draft",
			text: "config_schema: {$schema: 'https://example.org/draft'}", problems: []string{
				`7:26: config_schema.$schema: refers to "https://example.org/draft", outside of the schema, which must be self-contained`}},
		{rule: "a reference must lead somewhere",
			text: "config_schema: {properties: {a: {$ref: '#/$defs/b'}}}", problems: []string{
				`7:40: config_schema.properties.a.$ref: refers to "#/$defs/b", which does not exist`}},
		{rule: "a reference to an anchor must lead somewhere",
			text: "config_schema: {$ref: '#here'}", problems: []string{
				`7:23: config_schema.$ref: refers to "#here", which does not exist`}},
		{rule: "a reference must lead to a schema",
			text: "config_schema:\n  $ref: '#/parts/a~1b'\n  parts:\n    a/b: {type: 5}", problems: []string{
				`10:17: config_schema.parts["a/b"].type: must be one of "array", "boolean", "integer", "null", "number", "object", "string", or must be of type array, is number`}},
		{rule: "a pattern must be valid",
			text: "config_schema: {properties: {a: {pattern: '(b'}}}", problems: []string{
				"7:43: config_schema.properties.a.pattern: the pattern \"(b\" is not valid: error parsing regexp: missing closing ): `(b`"}},
		{rule: "a pattern of property names must be valid",
			text: "config_schema: {patternProperties: {'[': {}}}", problems: []string{
				"7:42: config_schema.patternProperties[\"[\"]: the pattern \"[\" is not valid: error parsing regexp: missing closing ]: `[`"}},
		{rule: "a pattern only ECMAScript has is a warning",
			text: "config_schema: {properties: {a: {pattern: '^(?!x)'}}}", warnings: []string{
				"7:43: config_schema.properties.a.pattern: the pattern \"^(?!x)\" is not checked here: error parsing regexp: invalid or unsupported Perl syntax: `(?!`"}},
		{rule: "a count over a thousand is a warning, and so is a pattern of names that only ECMAScript has",
			text: "config_schema: {pattern: 'a{1,2000}', patternProperties: {'\\u0041': {}}}", warnings: []string{
				"7:26: config_schema.pattern: the pattern \"a{1,2000}\" is not checked here: error parsing regexp: invalid repeat count: `{1,2000}`",
				"7:69: config_schema.patternProperties[\"\\\\u0041\"]: the pattern \"\\\\u0041\" is not checked here: error parsing regexp: invalid escape sequence: `\\u`"}},
		{rule: "patterns must not unfold to much memory",
			text: "config_schema: {properties: {a: {pattern: '(" + strings.Repeat("a", 100) + "){999}'}}}", problems: []string{
				`7:43: config_schema.properties.a.pattern: the pattern "(` + strings.Repeat("a", 59) + `"… is not valid: the patterns of this schema are too large`}},
		{rule: "a number must exist in JSON",
			text: "config_schema: {maximum: .inf}", problems: []string{
				"7:26: config_schema.maximum: JSON has no number for .inf"}},
		{rule: "a number must not be too large",
			text: "config_schema: {maximum: 1e999999999}", problems: []string{
				"7:26: config_schema.maximum: the number is too large or too small"}},
		{rule: "a schema that allows no object is a warning", text: "config_schema: {type: array}", warnings: []string{
			"7:23: config_schema.type: no value can fit: the checked value is always an object"}},
		{rule: "a schema must not be too large",
			text: "config_schema: {enum: [" + strings.Repeat("1,", 2000) + "]}", problems: []string{
				"7:16: config_schema: is too large: 2002 values, at most 2000"}},
		{rule: "system_config_schema must be a mapping", text: "system_config_schema: []", problems: []string{
			"7:23: system_config_schema: must be a mapping: a JSON Schema, got a list; put a key before each value: { KEY: … }"}},
		{rule: "system_config_schema must compile", text: "system_config_schema: {type: 5}", problems: []string{
			`7:30: system_config_schema.type: must be one of "array", "boolean", "integer", "null", "number", "object", "string", or must be of type array, is number`}},
		{rule: "the two schemas have no field in common",
			text: "config_schema:\n  properties: {a: {}, b: {}}\nsystem_config_schema:\n  properties:\n    c: {}\n    b: {}", problems: []string{
				"12:5: system_config_schema.properties.b: is a field of config_schema too; a field belongs to one of them"}},
	})
}

func TestTimes(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "shutdown_timeout_sec is a number", text: "shutdown_timeout_sec: 5s", problems: []string{
			"7:23: shutdown_timeout_sec: must be a whole number, got a string; write a number"}},
		{rule: "shutdown_timeout_sec is 1 at least", text: "shutdown_timeout_sec: 0", problems: []string{
			"7:23: shutdown_timeout_sec: must be from 1 to 30 seconds, got 0"}},
		{rule: "shutdown_timeout_sec is 30 at most", text: "shutdown_timeout_sec: 31", problems: []string{
			"7:23: shutdown_timeout_sec: must be from 1 to 30 seconds, got 31"}},
		{rule: "health_interval_sec is 5 at least", text: "health_interval_sec: 4", problems: []string{
			"7:22: health_interval_sec: must be from 5 to 300 seconds, got 4"}},
		{rule: "health_interval_sec is 300 at most", text: "health_interval_sec: 301", problems: []string{
			"7:22: health_interval_sec: must be from 5 to 300 seconds, got 301"}},
		{rule: "hook_timeout_sec is 1 at least", text: "hook_timeout_sec: -1", problems: []string{
			"7:19: hook_timeout_sec: must be from 1 to 60 seconds, got -1"}},
		{rule: "hook_timeout_sec is 60 at most", text: "hook_timeout_sec: 61", problems: []string{
			"7:19: hook_timeout_sec: must be from 1 to 60 seconds, got 61"}},
		{rule: "seconds are whole", text: "hook_timeout_sec: 1.5", problems: []string{
			`7:19: hook_timeout_sec: must be a whole number, got "1.5"`}},
	})
}

func TestUnknownKeys(t *testing.T) {
	runManifestCases(t, []manifestCase{
		{rule: "an unknown key is a warning", text: "priority: 5", warnings: []string{
			"7:1: priority: unknown key, ignored"}},
		{rule: "a key in another style is guessed", text: "hookTimeoutSec: 5", warnings: []string{
			`7:1: hookTimeoutSec: unknown key, ignored; did you mean "hook_timeout_sec"?`}},
		{rule: "a misspelt key is guessed, and the right one is reported as missing", line: 4, text: "descripton: Does one thing.",
			problems: []string{"1:1: description: is required; write description: …"},
			warnings: []string{`4:1: descripton: unknown key, ignored; did you mean "description"?`}},
		{rule: "two letters swapped are guessed", text: "konbs: {}", warnings: []string{
			`7:1: konbs: unknown key, ignored; did you mean "knobs"?`}},
	})
}
