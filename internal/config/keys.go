package config

// A Section describes one table of config.toml, for programs that list its keys. [Sections] returns
// all of them.
type Section struct {
	Name string // as in the header, with NAME for a name that the user chooses; "": the keys before the first table
	List bool   // the header is [[NAME]], and may occur several times
	Doc  string // one sentence
	Keys []Key
}

// A Key is one key of a section.
type Key struct {
	Name      string
	Default   string // the value without the key, as TOML; "": Otherwise describes it
	Otherwise string // the effect of leaving the key out, in words, if there is no default value
	Example   string // a value as TOML, if there is no Default
	Doc       string // what the key does, in a sentence
}

// Sections returns every table and key that [Load] reads, the most used ones first. Tests check
// that it has exactly the keys that schema.go reads and docs/configuration.md explains.
func Sections() []Section {
	return []Section{
		{Keys: []Key{
			{Name: "trust", Default: `"record"`,
				Doc: `New or changed plugins: "record" (record new ones in patchbay.lock, warn of changed ones) or "locked" (start neither).`},
			{Name: "sandbox", Default: `"kaged"`,
				Doc: `Whose declared capabilities are enforced: "kaged", "declared" (mine and scheduled agents too) or "off" (none).`},
		}},
		modelSection(),
		{Name: "chat", Doc: "The agent.", Keys: []Key{
			{Name: "approve", Otherwise: "a terminal asks, -p needs --yes, HTTP does not ask", Example: `"ask"`,
				Doc: `What happens when a built-in tool would change something: "ask", "auto" or "deny".`},
			{Name: "compact", Default: `"summarize"`,
				Doc: `How a conversation that is too long is made shorter: "summarize", "drop", "checkpoint" or "delegate".`},
			{Name: "agents_md", Default: `true`, Doc: "Whether AGENTS.md in the root of a project is part of the prompt; also chat --no-agents-md."},
		}},
		{Name: "server", Doc: "The daemon, patchbay serve.", Keys: []Key{
			{Name: "listen", Default: `"127.0.0.1:8000"`, Doc: "The address it listens at; also serve --listen."},
			{Name: "hosts", Default: `[]`, Doc: "Names by which clients may call it, in addition to loopback and its own address."},
			{Name: "token", Otherwise: "no token is asked for", Example: `"…"`,
				Doc: "The token that every client must send; required for any address but loopback. Then run chmod 600 on this file."},
		}},
		{Name: "jobs", Doc: "Scheduled agents.", Keys: []Key{
			{Name: "dirs", Otherwise: "agents/ in the configuration directory, and ~/.config/dotagent/agents", Example: `["~/.config/patchbay/agents", "~/.config/dotagent/agents"]`,
				Doc: "Where Patchbay looks for agents: each of these directories has one directory for each agent."},
		}},
		{Name: "telemetry", Doc: "Traces for an OpenTelemetry collector.", Keys: []Key{
			{Name: "otlp", Default: `""`, Doc: "Where a daemon sends every trace, such as http://127.0.0.1:4318; empty: nowhere."},
		}},
		engineSection(),
		pluginSection(),
		limitsSection(),
		{Name: "connect", List: true, Doc: "A plugin's hook, connected to another point than its own.", Keys: []Key{
			{Name: "plugin", Otherwise: "required", Example: `"lease"`, Doc: "The plugin's name."},
			{Name: "hook", Otherwise: "required", Example: `"preexec"`, Doc: "Its hook, as its dialect calls it."},
			{Name: "point", Otherwise: "required", Example: `"tool.before"`, Doc: "The point: patchbay fire --list has them all."},
		}},
		{Name: "mcp", List: true, Doc: "An MCP server that is a program, as a plugin.", Keys: []Key{
			{Name: "name", Otherwise: "required", Example: `"files"`, Doc: "The plugin's name, as in [plugins.files]."},
			{Name: "command", Otherwise: "none; the server is at url", Example: `["files-server", "--stdio"]`, Doc: "The program and its arguments."},
			{Name: "env", Default: `{}`, Doc: "Variables of the program; ${NAME} stands for a secret of secrets.toml."},
			{Name: "prefix", Otherwise: "the server's name and _", Example: `"files_"`, Doc: "Text that is put before the names of its tools and prompts."},
		}},
		{Name: "mcp", List: true, Doc: "An MCP server at an address, as a plugin.", Keys: []Key{
			{Name: "name", Otherwise: "required", Example: `"issues"`, Doc: "The plugin's name."},
			{Name: "url", Otherwise: "none; the server is the program of command", Example: `"https://mcp.example.com/"`, Doc: "Where the server is."},
			{Name: "headers", Default: `{}`, Doc: "Headers of every request; ${NAME} stands for a secret of secrets.toml."},
		}},
	}
}

func modelSection() Section {
	return Section{Name: "model", Doc: "The model that answers in chat and serve; also --model PROVIDER:NAME and $PATCHBAY_MODEL.", Keys: []Key{
		{Name: "provider", Default: `"offline"`, Doc: `"anthropic", "openai" (and every compatible endpoint) or "offline".`},
		{Name: "name", Otherwise: "none; anthropic and openai need one", Example: `"NAME"`, Doc: "The model, as its provider calls it."},
		{Name: "base_url", Otherwise: "$ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, else the provider's own", Example: `"http://127.0.0.1:11434/v1"`,
			Doc: "The address of the provider, or of an endpoint compatible with it."},
		{Name: "window", Otherwise: "the known size of the model's window", Example: `200000`, Doc: "How many tokens a conversation may have."},
		{Name: "script", Otherwise: "the offline model echoes", Example: `"turn.yaml"`, Doc: "Offline only: the replies to play; also --script."},
	}}
}

func engineSection() Section {
	return Section{Name: "engine", Doc: "Where state is stored: in the data directory, or on a NATS server or cluster.", Keys: []Key{
		{Name: "url", Default: `""`, Doc: "The address of the cluster: nats, tls, ws or wss, several with commas. Empty: state is stored in the data directory."},
		{Name: "credentials", Default: `""`, Doc: "A NATS credentials file."},
		{Name: "ca", Default: `""`, Doc: "A file with the authorities that sign the servers' certificates, if the system does not know them."},
		{Name: "cert", Default: `""`, Doc: "A file with the client's certificate, if the servers ask for one."},
		{Name: "key", Default: `""`, Doc: "A file with the key of that certificate."},
	}}
}

func pluginSection() Section {
	return Section{Name: "plugins.NAME", Doc: "One plugin, by its name, whatever its dialect; or [plugins.\"DIALECT:NAME\"].", Keys: []Key{
		{Name: "enabled", Default: `true`, Doc: "Whether the plugin takes part."},
		{Name: "priority", Otherwise: "the plugin's own, else 500", Example: `500`, Doc: "The order of plugins at a point: lower runs first."},
		{Name: "timeout", Otherwise: "set by the dialect", Example: `"5s"`, Doc: "How long a hook may take."},
		{Name: "tool_timeout", Otherwise: "set by the dialect", Example: `"2m"`, Doc: "How long a tool or method may take."},
		{Name: "standby", Default: `0`, Doc: "mine and dotagent: how many processes are started ahead and wait for their call."},
		{Name: "env", Otherwise: "the dialect's own list", Example: `["GIT_*"]`, Doc: "Variables that are passed on in addition to the dialect's own list; for dotagent, instead of all."},
		{Name: "on_failure", Otherwise: "the failure table", Example: `"skip"`, Doc: `What its failure does to an event: "skip", "abort" or "deny".`},
		{Name: "messages", Default: `"list"`, Doc: `kaged: how hooks get transcripts, as a "list" of messages or as one "text".`},
		{Name: "config", Otherwise: "the plugin's own defaults", Example: `{ branch = "main" }`, Doc: "The plugin's configuration, checked against its schema."},
		{Name: "capabilities", Otherwise: "what the plugin declares", Example: `["read:fs:/srv/notes", "net:example.org:443"]`,
			Doc: "What it may do, instead of what it declares; [] allows nothing."},
		{Name: "allow_unenforced", Default: `false`, Doc: "Run it even if this system cannot enforce a capability."},
	}}
}

func limitsSection() Section {
	return Section{Name: "plugins.NAME.limits", Doc: "What that plugin may use. Its storage always has a limit.", Keys: []Key{
		{Name: "memory", Otherwise: "no limit", Example: `"256MB"`, Doc: "Memory; K, M and G are powers of 1024."},
		{Name: "processes", Otherwise: "no limit", Example: `20`, Doc: "The number of its processes, including threads."},
		{Name: "open_files", Otherwise: "no limit", Example: `100`, Doc: "Open files in each process."},
		{Name: "cpu_time", Otherwise: "no limit", Example: `"10m"`, Doc: "CPU time of each process."},
		{Name: "output", Otherwise: "set by the dialect", Example: `"1MB"`, Doc: "The size of one answer."},
		{Name: "storage", Default: `"64MB"`, Doc: "The size of the keys and values that it stores in the host."},
		{Name: "storage_keys", Default: `10000`, Doc: "How many keys it may store."},
	}}
}
