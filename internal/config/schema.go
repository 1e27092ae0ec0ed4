package config

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxStandby bounds the processes kept waiting for one plugin: each is a whole interpreter.
const maxStandby = 16

// readConfig reads the whole file. Each function below is the definition of one table.
func readConfig(t *table) *Config {
	defaults := Default()
	c := &Config{
		Trust:   oneOf(t, "trust", defaults.Trust, TrustRecord, TrustLocked),
		Sandbox: oneOf(t, "sandbox", defaults.Sandbox, SandboxKaged, SandboxDeclared, SandboxOff),
		Engine:  readEngine(t.table("engine")),
		Model:   readModel(t.table("model")),
		Server:  readServer(t.table("server"), defaults.Server),
		Chat:    readChat(t.table("chat")),
		Plugins: readPlugins(t.table("plugins")),
		Connect: readConnects(t.tables("connect")),
		Jobs:    readJobs(t.table("jobs")),
		MCP:     readMCPs(t.tables("mcp")),
	}
	t.end()
	return c
}

func readEngine(t *table) Engine {
	e := Engine{
		URL:         t.text("url", ""),
		Credentials: t.text("credentials", ""),
		CA:          t.text("ca", ""),
		Cert:        t.text("cert", ""),
		Key:         t.text("key", ""),
	}
	if (e.Cert == "") != (e.Key == "") {
		t.bad("cert", "name both files, or neither", "a certificate needs its key, and a key its certificate")
	}
	if e.URL != "" {
		for _, server := range strings.Split(e.URL, ",") { // a cluster may be named by several of its servers
			t.checkURL("url", strings.TrimSpace(server), "nats", "tls", "ws", "wss")
		}
	}
	t.end()
	return e
}

func readModel(t *table) Model {
	m := Model{
		Provider: oneOf(t, "provider", "", ProviderAnthropic, ProviderOpenAI, ProviderOffline),
		Name:     t.text("name", ""),
		BaseURL:  t.text("base_url", ""),
		Script:   t.text("script", ""),
	}
	if n := t.number("window"); n != nil {
		if m.Window = *n; m.Window < 1000 {
			t.bad("window", "", "%d tokens are too few for a conversation", m.Window)
		}
	}
	if m.BaseURL != "" {
		t.checkURL("base_url", m.BaseURL, "http", "https")
	}
	t.end()
	return m
}

// readServer leaves the rule about tokens to the daemon, which must apply it to --listen too.
func readServer(t *table, defaults Server) Server {
	s := Server{
		Listen: t.text("listen", defaults.Listen),
		Token:  NewSecret(t.text("token", "")),
	}
	if !isAddress(s.Listen) {
		t.bad("listen", `write host and port, as in "127.0.0.1:8000"`, "%q is not an address", cut(s.Listen))
	}
	t.end()
	return s
}

// isAddress tells whether s is a host, which may be empty, and a port by number.
func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func readChat(t *table) Chat {
	c := Chat{
		Approve: oneOf(t, "approve", "", ApproveAsk, ApproveAuto, ApproveDeny),
		Compact: oneOf(t, "compact", "", CompactDrop, CompactSummarize, CompactDelegate, CompactCheckpoint),
	}
	t.end()
	return c
}

func readPlugins(t *table) map[string]Plugin {
	plugins := make(map[string]Plugin, len(t.values))
	for name := range t.values {
		if name == "" {
			t.bad(name, "write [plugins.NAME]", "a plugin's name must not be empty")
		}
		plugins[name] = readPlugin(t.table(name))
	}
	return plugins
}

func readPlugin(t *table) Plugin {
	p := Plugin{
		Enabled:      t.flag("enabled"),
		Priority:     t.number("priority"),
		Timeout:      t.duration("timeout"),
		ToolTimeout:  t.duration("tool_timeout"),
		Env:          t.list("env"),
		OnFailure:    oneOf(t, "on_failure", "", FailSkip, FailAbort, FailDeny),
		Capabilities: t.list("capabilities"),
		Config:       t.free("config"),
	}
	if n := t.number("standby"); n != nil {
		p.Standby = *n
	}
	if p.Standby < 0 || p.Standby > maxStandby {
		t.bad("standby", "", "%d is not between 0 and %d", p.Standby, maxStandby)
	}
	if allow := t.flag("allow_unenforced"); allow != nil {
		p.AllowUnenforced = *allow
	}
	for i, name := range p.Env {
		if strings.ContainsAny(name, "=\x00") {
			t.badItem("env", i, "%q: want a variable's name or a glob, not a value", cut(name))
		}
	}
	t.end()
	return p
}

func readConnects(tables []*table) []Connect {
	connects := make([]Connect, 0, len(tables))
	for _, t := range tables {
		c := Connect{Plugin: t.required("plugin"), Hook: t.required("hook"), Point: t.required("point")}
		t.end()
		if i := slices.Index(connects, c); i >= 0 {
			t.complain(t.at.value, t.path, fmt.Sprintf("%s: the same as connect[%d]", t.path, i), "remove one of them")
		}
		connects = append(connects, c)
	}
	return connects
}

func readJobs(t *table) Jobs {
	j := Jobs{Dirs: t.list("dirs")}
	t.end()
	return j
}

// mcpName is what MCP clients take as part of a tool's name.
var mcpName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

func readMCPs(tables []*table) []MCP {
	servers := make([]MCP, 0, len(tables))
	for _, t := range tables {
		m := MCP{Name: t.required("name"), Command: t.list("command"), URL: t.text("url", "")}
		t.end()
		checkMCP(t, m)
		if i := slices.IndexFunc(servers, func(o MCP) bool { return o.Name == m.Name }); i >= 0 && m.Name != "" {
			t.bad("name", "", "%q is taken by mcp[%d]", cut(m.Name), i)
		}
		servers = append(servers, m)
	}
	return servers
}

func checkMCP(t *table, m MCP) {
	if m.Name != "" && !mcpName.MatchString(m.Name) {
		t.bad("name", "use letters, digits, - and _, at most 64", "%q is not a name for an MCP server", cut(m.Name))
	}
	_, hasCommand := t.values["command"]
	_, hasURL := t.values["url"]
	switch {
	case hasCommand && hasURL:
		t.bad("url", "keep one of them", "an MCP server has a command or a url, not both")
	case hasURL && t.isText("url"):
		t.checkURL("url", m.URL, "http", "https")
	case hasCommand && m.Command != nil && len(m.Command) == 0:
		t.bad("command", "", "must name a program")
	case !hasCommand && !hasURL:
		t.complain(t.at.value, t.path, t.path+": neither command nor url", `add command = ["…"] or url = "https://…"`)
	}
}

func (t *table) isText(name string) bool {
	_, ok := t.values[name].(string)
	return ok
}

// checkURL does not show the address: it may carry a password.
func (t *table) checkURL(name, address string, schemes ...string) {
	u, err := url.Parse(address)
	fix := fmt.Sprintf("write %s://HOST…", schemes[0])
	switch {
	case err != nil:
		t.bad(name, fix, "not a URL")
	case !slices.Contains(schemes, u.Scheme):
		t.bad(name, fix, "want a URL that starts with %s://", strings.Join(schemes, ":// or "))
	case u.Host == "":
		t.bad(name, fix, "the URL names no host")
	}
}
