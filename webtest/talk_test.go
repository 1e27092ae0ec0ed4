package webtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// scripted gives the offline model a script of replies, with tool calls and delays.
func scripted(t testing.TB, script string) func(home string) {
	return func(home string) {
		dir := filepath.Join(home, ".config", "patchbay")
		for name, text := range map[string]string{"script.yaml": script, "config.toml": "[model]\nprovider = \"offline\"\nscript = \"script.yaml\"\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// talk is a script with two tools and a reply in code and words.
const talk = `
- text: Let me look first.
  tools:
    - name: list_files
    - name: shell
      arguments: {cmd: "echo tools work"}
- text: |
    There is **one** file, ` + "`script.yaml`" + `:

    ` + "```yaml" + `
    - text: hello
    ` + "```" + `
  delay: 20ms
`

// begin turns python plugins on, and begins a session with the given ones.
func (s *site) begin(plugins ...string) (id string) {
	s.t.Helper()
	s.call("POST", "/feature/plugins/enable", nil, nil)
	var session struct{ ID string }
	s.call("POST", "/session", map[string]any{"plugins": plugins}, &session)
	return session.ID
}

// A turnResult is the result of a turn.
type turnResult struct{ Text, Turn, Status string }

// say runs a turn without the page.
func (s *site) say(session, text string) (result turnResult) {
	s.t.Helper()
	s.call("POST", "/session/"+session+"/message", map[string]any{"text": text}, &result)
	return result
}

// hook sends an event as the hook of another agent does.
func (s *site) hook(agent, event string, in map[string]any) {
	s.t.Helper()
	s.call("POST", "/v1/hooks/"+agent, map[string]any{"protocol": 1, "version": "0.1.0", "event": event, "dir": s.Home, "input": in}, nil)
}

// write replaces the text of an editor: it clicks the editor, selects everything, and inserts the
// text.
func (p *tab) write(editor, text string) {
	p.t.Helper()
	host := fmt.Sprintf("[data-editor=%q]", editor)
	p.until("the editor "+editor, fmt.Sprintf(`document.querySelector(%q)?.shadowRoot?.querySelector('.cm-content')`, host))
	p.click(host)
	p.run(chromedp.KeyEvent("a", chromedp.KeyModifiers(input.ModifierCtrl)))
	p.run(input.InsertText(text))
}
