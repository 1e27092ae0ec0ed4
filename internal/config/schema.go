package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/patchbay-dev/patchbay/internal/capability"
	"github.com/patchbay-dev/patchbay/internal/document"
)

// maxStandby limits the waiting processes of one plugin, because each may be a whole interpreter.
const maxStandby = 16

// readConfig reads the whole file. Each function below defines one table.
func readConfig(t *document.Table) *Config {
	defaults := Default()
	c := &Config{
		Trust:     document.OneOf(t, "trust", "", TrustRecord, TrustLocked),
		Sandbox:   document.OneOf(t, "sandbox", defaults.Sandbox, SandboxKaged, SandboxDeclared, SandboxOff),
		Engine:    readEngine(t.Table("engine")),
		Model:     readModel(t.Table("model")),
		Server:    readServer(t.Table("server"), defaults.Server),
		Chat:      readChat(t.Table("chat")),
		Telemetry: readTelemetry(t.Table("telemetry")),
		Plugins:   readPlugins(t.Table("plugins")),
		Connect:   readConnects(t.Tables("connect")),
		Jobs:      readJobs(t.Table("jobs")),
		MCP:       readServers(t.Tables("mcp")),
	}
	t.End()
	return c
}

func readEngine(t *document.Table) Engine {
	e := Engine{
		URL:         t.Text("url", ""),
		Credentials: t.Text("credentials", ""),
		CA:          t.Text("ca", ""),
		Cert:        t.Text("cert", ""),
		Key:         t.Text("key", ""),
	}
	if (e.Cert == "") != (e.Key == "") {
		t.Bad("cert", "name both files, or neither", "a certificate needs its key, and a key its certificate")
	}
	if e.URL != "" {
		for _, server := range strings.Split(e.URL, ",") { // a cluster may be given by several of its servers
			checkURL(t, "url", strings.TrimSpace(server), "nats", "tls", "ws", "wss")
		}
	}
	t.End()
	return e
}

func readModel(t *document.Table) Model {
	m := Model{
		Provider: document.OneOf(t, "provider", "", ProviderAnthropic, ProviderOpenAI, ProviderOffline),
		Name:     t.Text("name", ""),
		BaseURL:  t.Text("base_url", ""),
		Script:   t.Text("script", ""),
	}
	if n := t.Number("window"); n != nil {
		if m.Window = *n; m.Window < 1000 {
			t.Bad("window", "write the number of tokens that the model takes, as in 200000", "%d tokens are too few for a conversation", m.Window)
		}
	}
	if m.BaseURL != "" {
		checkURL(t, "base_url", m.BaseURL, "http", "https")
	}
	t.End()
	return m
}

// readServer does not check the rule about tokens: the daemon does, because the rule also applies
// to --listen.
func readServer(t *document.Table, defaults Server) Server {
	s := Server{
		Listen: t.Text("listen", defaults.Listen),
		Token:  NewSecret(t.Text("token", "")),
		Hosts:  t.List("hosts"),
	}
	if !isAddress(s.Listen) {
		t.Bad("listen", `write host and port, as in "127.0.0.1:8000"`, "%q is not an address", document.Cut(s.Listen))
	}
	t.End()
	return s
}

// isAddress reports whether s is a host, which may be empty, and a port number.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func readChat(t *document.Table) Chat {
	c := Chat{
		Approve: document.OneOf(t, "approve", "", ApproveAsk, ApproveAuto, ApproveDeny),
		Compact: document.OneOf(t, "compact", "", CompactDrop, CompactSummarize, CompactDelegate, CompactCheckpoint),

		NoAgentsMD: !t.Bool("agents_md", true),
	}
	t.End()
	return c
}

func readTelemetry(t *document.Table) Telemetry {
	o := Telemetry{OTLP: t.Text("otlp", "")}
	if o.OTLP != "" {
		checkURL(t, "otlp", o.OTLP, "http", "https")
	}
	t.End()
	return o
}

func readPlugins(t *document.Table) map[string]Plugin {
	plugins := make(map[string]Plugin, len(t.Names()))
	for _, name := range t.Names() {
		if name == "" {
			t.Bad(name, "write [plugins.NAME]", "a plugin's name must not be empty")
		}
		plugins[name] = readPlugin(t.Table(name))
	}
	return plugins
}

func readPlugin(t *document.Table) Plugin {
	p := Plugin{
		Enabled:      t.Flag("enabled"),
		Priority:     t.Number("priority"),
		Timeout:      t.Duration("timeout"),
		ToolTimeout:  t.Duration("tool_timeout"),
		Env:          t.List("env"),
		OnFailure:    document.OneOf(t, "on_failure", "", FailSkip, FailAbort, FailDeny),
		Messages:     document.OneOf(t, "messages", "", AsList, AsText),
		Capabilities: readCapabilities(t),
		Limits:       readLimits(t.Table("limits")),
		Config:       t.Free("config"),

		AllowUnenforced: t.Bool("allow_unenforced", false),
	}
	if n := t.Number("standby"); n != nil {
		p.Standby = *n
	}
	if p.Standby < 0 || p.Standby > maxStandby {
		t.Bad("standby", fmt.Sprintf("write a number from 0 to %d", maxStandby), "%d is out of range", p.Standby)
	}
	for i, name := range p.Env {
		if strings.ContainsAny(name, "=\x00") {
			t.BadItem("env", i, "write only the name; the value comes from the host's environment", "%q: want a variable's name or a glob, not a value", document.Cut(name))
		}
	}
	for _, name := range []string{"sandbox", "trust"} {
		t.Elsewhere(name, name+" holds for all plugins: write it at the top of the file, before the first [table]")
	}
	t.Others("the plugin's own settings belong into config = { … } here, its secrets below [" + t.Self.Path() + "] in secrets.toml")
	t.End()
	return p
}

// readCapabilities returns nil if the key is missing, which leaves the choice to the plugin. An
// empty list grants nothing.
func readCapabilities(t *document.Table) []capability.Capability {
	list := t.List("capabilities")
	if list == nil {
		return nil
	}
	granted := make([]capability.Capability, 0, len(list))
	for i, text := range list {
		if text == "" {
			continue // List has reported it
		}
		c, err := capability.Parse(text)
		if err != nil {
			t.BadItem("capabilities", i, "docs/security.md says what each capability means", "%v", err)
			continue
		}
		granted = append(granted, c)
	}
	return granted
}

func readLimits(t *document.Table) Limits {
	count := func(name string) int {
		n := t.Number(name)
		if n == nil {
			return 0
		}
		if *n < 1 {
			t.Bad(name, "leave it out for no limit", "%d is not more than 0", *n)
		}
		return *n
	}
	l := Limits{Memory: readSize(t, "memory"), Processes: count("processes"), OpenFiles: count("open_files"),
		CPUTime: t.Duration("cpu_time"), Output: readSize(t, "output"),
		Storage: readSize(t, "storage"), StorageKeys: count("storage_keys")}
	t.End()
	return l
}

// readSize reads a number of bytes such as "64MB". The units are powers of 1024, as in Docker and
// systemd.
func readSize(t *document.Table, name string) int64 {
	text := t.Text(name, "")
	if text == "" {
		return 0
	}
	number := strings.TrimRight(text, "KMGTiB")
	shift, known := map[string]int{"B": 0, "": 0, "K": 10, "KB": 10, "KiB": 10, "M": 20, "MB": 20, "MiB": 20, "G": 30, "GB": 30, "GiB": 30}[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known || n < 1 || n > 1<<(62-shift) {
		t.Bad(name, `write a number and a unit: "64MB"`, "%q is not a size", document.Cut(text))
		return 0
	}
	return n << shift
}

func readConnects(tables []*document.Table) []Connect {
	connects := make([]Connect, 0, len(tables))
	for _, t := range tables {
		c := Connect{Plugin: t.Required("plugin"), Hook: t.Required("hook"), Point: t.Required("point")}
		t.End()
		if i := slices.Index(connects, c); i >= 0 {
			t.Self.Bad("remove one of them", "the same as connect[%d]", i)
		}
		connects = append(connects, c)
	}
	return connects
}

// readServers reads the [[mcp]] tables. Each is a plugin with its own name.
func readServers(tables []*document.Table) []MCP {
	var servers []MCP
	for _, t := range tables {
		m := MCP{Name: t.Required("name"), Command: t.List("command"), URL: t.Text("url", ""),
			Env: readTexts(t.Table("env")), Headers: readTexts(t.Table("headers"))}
		m.Prefix = t.Text("prefix", m.Name+"_")
		checkServer(t, m)
		t.End()
		if slices.ContainsFunc(servers, func(o MCP) bool { return o.Name == m.Name }) {
			t.Bad("name", "give each server a name of its own", "there is another server %q", document.Cut(m.Name))
		}
		servers = append(servers, m)
	}
	return servers
}

func checkServer(t *document.Table, m MCP) {
	if m.Name != "" && !isServerName(m.Name) {
		t.Bad("name", "use letters, digits, - and _", "%q is not a valid plugin name", document.Cut(m.Name))
	}
	switch {
	case len(m.Command) == 0 && m.URL == "":
		t.Self.Bad("write command = [\"PROGRAM\", …], or url = \"https://…\"", "it has neither a command nor a url")
	case len(m.Command) > 0 && m.URL != "":
		t.Bad("url", "leave one of them out", "a server has a command or a url, not both")
	case m.URL != "":
		checkURL(t, "url", m.URL, "http", "https")
		if len(m.Env) > 0 {
			t.Bad("env", "remove it", "only a server with a command has an environment")
		}
	case len(m.Headers) > 0:
		t.Bad("headers", "remove it", "a server with a command has no headers")
	}
	for name := range m.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			t.Bad("env", "write NAME = \"value\"", "%q is not the name of a variable", document.Cut(name))
		}
	}
}

// isServerName reports whether s is a valid name of a server. The name becomes a part of the names
// of tools, which allow no other characters.
func isServerName(s string) bool {
	return len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}

// readTexts reads a table of texts, which may contain ${SECRET}.
func readTexts(t *document.Table) map[string]string {
	texts := make(map[string]string)
	for _, name := range t.Names() {
		texts[name] = t.Text(name, "")
	}
	return texts
}

func readJobs(t *document.Table) Jobs {
	j := Jobs{Dirs: t.List("dirs")}
	t.End()
	return j
}

// checkURL never shows the address, which may contain a password.
func checkURL(t *document.Table, name, address string, schemes ...string) {
	u, err := url.Parse(address)
	fix := fmt.Sprintf("write %s://HOST…", schemes[0])
	switch {
	case err != nil:
		t.Bad(name, fix, "not a URL")
	case !slices.Contains(schemes, u.Scheme):
		t.Bad(name, fix, "want a URL that starts with %s://", strings.Join(schemes, ":// or "))
	case u.Host == "":
		t.Bad(name, fix, "the URL names no host")
	}
}
