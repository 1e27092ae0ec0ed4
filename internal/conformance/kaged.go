package conformance

import (
	"encoding/json"
	"time"

	"github.com/patchbay-dev/patchbay/internal/dialect/kaged"
	"github.com/patchbay-dev/patchbay/rawjson"
)

// A kagedSuite checks a plugin against docs/protocols/kaged.md.
type kagedSuite struct {
	rpcSuite
	manifest *kaged.Manifest
	config   json.RawMessage // the plugin's config
	system   json.RawMessage
	welcome  rawjson.Object
	kept     kagedStorage
	rate     meter
	ended    *dialogue // a process that has answered shutdown
}

// The times of the protocol.
const (
	kagedHandshake = 10 * time.Second
	kagedHealth    = 5 * time.Second
	kagedCall      = 60 * time.Second
)

func newKagedSuite(b *bench) *kagedSuite {
	s := &kagedSuite{config: json.RawMessage(`{}`), system: json.RawMessage(`{}`)}
	s.bench = b
	s.manifest, _ = b.target.Found.Manifest.(*kaged.Manifest)
	s.rpcSuite.launch = s.command
	s.rpcSuite.greet = func(d *dialogue) error { return s.greetWith(d, s.config, s.system) }
	s.prepare = func(d *dialogue) {
		d.serve = s.answer
		d.heard = s.notified
	}
	s.ping = request{"health.check", json.RawMessage(`{}`), kagedHealth}
	return s
}

func (s *kagedSuite) checks() []Check {
	const valid, hello, hooks, tools, pings = "kaged.manifest.valid", "kaged.handshake.answer", "kaged.hook.answers", "kaged.tool.answers", "kaged.health.answer"
	const twice = "kaged.process.twice"
	return []Check{
		{ID: valid, Row: "K1", run: func(t *trial) { t.manifest() }, Does: "reads the manifest",
			Rule: "The manifest is checked whole: every violated field is reported at once, with line and column.",
			Fix:  "correct manifest.yaml where the message says; the table of fields has each one's type and range"},
		{ID: "kaged.manifest.odd", Row: "K2", needs: []string{valid}, run: manifestOdd, Does: "looks for unknown keys, two manifests, and a directory of another name",
			Rule: "An unknown key is a warning; give the directory the plugin's name.",
			Fix:  "correct the key, or rename the directory"},
		{ID: "kaged.config.refused", Row: "K3", needs: []string{valid}, run: s.configRefused, Does: "checks configs of wrong types against the schemas",
			Rule: "Both configurations are checked against their schemas before the plugin is started.",
			Fix:  "give each property of config_schema and system_config_schema a type"},
		{ID: hello, Row: "K4", needs: []string{valid}, run: s.initialize, Does: "starts it in its sandbox, and sends `initialize`",
			Rule: "The answer to `initialize` must come within 10 seconds.",
			Fix:  "answer the line of `initialize` with one line, and flush stdout after it"},
		{ID: "kaged.handshake.time", Row: "K5", needs: []string{hello}, run: s.prompt(kagedHandshake), Does: "measures how long the start took",
			Rule: "There are 10 seconds for the answer to `initialize`, on the slowest machine too.",
			Fix:  "do slow work after `initialize` has been answered"},
		{ID: "kaged.handshake.version", Row: "K6", needs: []string{hello}, run: s.apiVersion, Does: "looks at `api_version` in the answer to `initialize`",
			Rule: "`api_version` is 1, or the plugin is refused. Left out: a warning.",
			Fix:  `answer initialize with "api_version": 1, a number`},
		{ID: "kaged.handshake.fields", Row: "K7", needs: []string{hello}, run: s.welcomeFields, Does: "compares the answer to `initialize` with the manifest",
			Rule: "`name`, `version`, `methods`, `notifications` and `capabilities_used` are as in the manifest; differences are warnings.",
			Fix:  "make the manifest and the answer to initialize say the same"},
		{ID: hooks, Row: "K8", needs: []string{hello}, run: s.askHooks, Does: "asks each of its hooks, with transcripts of several kinds",
			Rule: "Each hook is answered within `hook_timeout_sec`; `null` changes nothing.",
			Fix:  "answer kaged.hook.NAME for every hook of the manifest, with null if it changes nothing"},
		{ID: "kaged.hook.result", Row: "K9", needs: []string{hooks}, run: hookResults, Does: "looks at the answers of hooks",
			Rule: "`on_session_start` answers `{inject?}`, `on_session_idle` `null`, `pre_compact` `null` or `{messages}` or `{summary}`, `post_compact` `{retain, inject?}`.",
			Fix:  "give the answer the fields and types that the table of hooks has"},
		{ID: tools, Row: "K10", needs: []string{hello}, run: s.askTools, Does: "calls each of its tools, with arguments made from `parameters_schema`",
			Rule: "The method is `<plugin>.<tool>`, the arguments are in `params`, checked against `parameters_schema`; a result or an error answers it.",
			Fix:  "answer PLUGIN.TOOL for every tool of the manifest, for all arguments that its schema allows"},
		{ID: "kaged.method.answers", Row: "K11", needs: []string{hello}, run: s.askMethods, Does: "calls each of its methods",
			Rule: "`methods` lists the methods that programs may call.",
			Fix:  "answer every method of the manifest: with a result, or with an error that says what is wrong with the params"},
		{ID: "kaged.method.unknown", Row: "K12", needs: []string{hello}, run: s.unknownMethod, Does: "calls a method that does not exist",
			Rule: "A method that the plugin does not know is answered with the error -32601.",
			Fix:  `answer {"jsonrpc":"2.0","id":…,"error":{"code":-32601,"message":"no such method"}}`},
		{ID: pings, Row: "K13", needs: []string{hello}, run: s.health, Does: "sends `health.check`",
			Rule: "Any answer to `health.check` within 5 seconds counts, even an error.",
			Fix:  "answer health.check at once, also while other requests are under way"},
		{ID: twice, Row: "K14", needs: []string{pings}, run: s.twice, Does: "runs a second process beside the first",
			Rule: "A daemon has a process of the plugin for each project in use.",
			Fix:  "let each process write files of its own; use no fixed port, and hold no lock forever"},
		{ID: "kaged.config.accepted", Row: "K15", needs: []string{twice}, run: s.configAccepted, Does: "starts it with configs that fit its schemas: minimal, full, at the limits",
			Rule: "`config` is an object that fits `config_schema`, with the knobs' defaults in it; `system_config` fits `system_config_schema`.",
			Fix:  "accept every config that the schema allows, or make the schema stricter"},
		{ID: "kaged.requests.together", Row: "K16", needs: []string{pings}, run: func(t *trial) { s.together(t, s.many()) }, Does: "has eight requests under way at once",
			Rule: "Several requests of the host may be under way at the same time; they may be answered in any order.",
			Fix:  "answer every request, each with its own id; read on while an answer is being worked on"},
		{ID: "kaged.notification.silent", Row: "K17", needs: []string{pings}, run: s.silent, Does: "sends notifications",
			Rule: "`initialized` is a notification and has no answer.",
			Fix:  "answer nothing to a message without an id"},
		{ID: "kaged.input.pieces", Row: "K18", needs: []string{pings}, run: s.inPieces, Does: "sends a request in three parts",
			Rule: "A message is a line, however its bytes arrive.",
			Fix:  "read up to the line end before you parse"},
		{ID: "kaged.input.huge", Row: "K19", needs: []string{pings}, run: s.huge, Does: "sends a request of 1 MiB",
			Rule: "One JSON object a line, UTF-8, at most 4 MiB.",
			Fix:  "read lines of up to 4 MiB; many readers of lines have a smaller limit that must be raised"},
		{ID: "kaged.input.garbled", Row: "K20", needs: []string{twice}, run: s.garbled, Does: "sends lines that are not JSON",
			Rule: "A line that is not JSON is ignored, and the process goes on.",
			Fix:  "ignore a line that you cannot parse, and say so on stderr"},
		{ID: "kaged.shutdown.answer", Row: "K21", needs: []string{hello}, run: s.answersShutdown, Does: "sends `shutdown`",
			Rule: "`shutdown` is a request, and is answered.",
			Fix:  "answer shutdown with a result, such as {}, before you exit"},
		{ID: "kaged.shutdown.exit", Row: "K22", needs: []string{"kaged.shutdown.answer"}, run: func(t *trial) { s.exits(t, s.ended, s.manifest.ShutdownTimeout) }, Does: "waits for its end after `shutdown`",
			Rule: "After `shutdown` is answered, stdin is closed; the process has `shutdown_timeout_sec` in all to end.",
			Fix:  "exit after shutdown, or at the end of stdin; raise shutdown_timeout_sec if cleaning up takes longer"},
		{ID: "kaged.stdin.end", Row: "K23", needs: []string{twice}, run: func(t *trial) { s.stdinEnd(t, s.manifest.ShutdownTimeout) }, Does: "closes stdin without `shutdown`",
			Rule: "The plugin exits when its stdin is closed, because its host is gone.",
			Fix:  "leave the loop at the end of stdin"},
		{ID: "kaged.notification.declared", Row: "K24", sums: true, needs: []string{hello}, run: summary(sawUnasked, "all notifications are declared"), Does: "compares notifications with the manifest",
			Rule: "`notifications` lists the notifications that the plugin sends.",
			Fix:  "list the notification in the manifest's notifications, or do not send it"},
		{ID: "kaged.notification.rate", Row: "K25", sums: true, needs: []string{hello}, run: summary(sawFlood, "at most 100 a second"), Does: "counts notifications",
			Rule: "At most 100 notifications pass in any second; more are dropped, counted and reported.",
			Fix:  "send fewer notifications, with more in each"},
		{ID: "kaged.request.known", Row: "K26", sums: true, needs: []string{hello}, run: summary(sawRequest, "it asks for nothing else"), Does: "looks at the requests that it makes",
			Rule: "The host answers four requests: `kaged.storage.get`, `put`, `delete` and `list`.",
			Fix:  "ask the host for nothing but storage, with the params that the page shows"},
		{ID: "kaged.storage.declared", Row: "K27", sums: true, needs: []string{hello}, run: summary(sawStorage, "it declares the storage that it uses"), Does: "compares its requests for storage with its capabilities",
			Rule: "`get` and `list` need `kaged:storage:read`, `put` and `delete` need `kaged:storage:write`.",
			Fix:  "add the capability to the manifest's capabilities"},
		{ID: "kaged.sandbox.denied", Row: "K28", sums: true, needs: []string{hello}, run: denied, Does: "looks for what its sandbox refused",
			Rule: "The plugin runs in a sandbox, and may use only what it declares.",
			Fix:  "add the capability to the manifest's capabilities, or do not use it"},
		{ID: "kaged.rpc.envelope", Row: "K29", sums: true, needs: []string{hello}, run: summary(sawEnvelope, "all messages are JSON-RPC 2.0"), Does: "looks at the form of all messages",
			Rule: "Program and host speak JSON-RPC 2.0 in UTF-8: `jsonrpc`, `id`, and either `result` or `error` with a code and a message.",
			Fix:  `write "jsonrpc":"2.0", the id, and either result or error, in every answer, and encode it as UTF-8`},
		{ID: "kaged.rpc.id", Row: "K30", sums: true, needs: []string{hello}, run: summary(sawID, "all answers have the ids of their requests"), Does: "compares the ids of answers with those of requests",
			Rule: "The host's ids are numbers that count from 1: an answer has the id of its request.",
			Fix:  "copy the id of the request unchanged, as a number and not as a string, and answer each request once; ignore a line that is not a message, or answer it with the id null"},
		{ID: "kaged.stdout.clean", Row: "K31", sums: true, needs: []string{hello}, run: summary(sawNoise, "nothing but messages was printed"), Does: "looks for other text on stdout",
			Rule: "Lines that are not JSON are logged and ignored; print nothing else to stdout.",
			Fix:  "print text for people to stderr; silence the programs that you start; write each message on one line"},
		{ID: "kaged.process.left", Row: "K32", sums: true, needs: []string{hello}, run: leftRunning, Does: "looks for processes after each end of the plugin",
			Rule: "No process survives the plugin.",
			Fix:  "wait for the programs that you start, or end them before you exit"},
	}
}
