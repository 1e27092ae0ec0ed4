package daemon

import (
	"os"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/hook"
	"github.com/patchbay-dev/patchbay/internal/plugtest"
)

// program writes an executable file.
func (h testHome) program(path, text string) {
	h.t.Helper()
	if err := os.Chmod(h.write(path, text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

// stream sends a message. It returns the kinds of the turn's events in order, and their data.
func (s *served) stream(id string) (kinds []string, all string) {
	s.t.Helper()
	got := s.do("POST", "/session/"+id+"/message", `{"text":"hello"}`, "Accept", "text/event-stream")
	for event := range strings.SplitSeq(got.body, "\n\n") {
		if kind, data, ok := strings.Cut(strings.TrimPrefix(event, "event: "), "\ndata: "); ok {
			kinds = append(kinds, kind)
			if kind != "point" { // a trace contains the text that each plugin was sent
				all += data + "\n"
			}
		}
	}
	return kinds, all
}

// TestRepliesOverHTTPAreHeld checks that post_llm_response runs before text is shown. See
// docs/protocols/scaffold.md.
func TestRepliesOverHTTPAreHeld(t *testing.T) {
	const script = "[{text: it is a secret}, {text: it is a secret}]"
	t.Run("text is held if a scaffold plugin may change it", func(t *testing.T) {
		plugtest.NeedTool(t, "bash")
		h := newTestHome(t)
		h.program(".local/scaffold/plugins/shouter", `#!/bin/bash
while IFS= read -r line; do
	id=${line##*'"id":'}; id=${id%\}}
	case "$line" in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"name":"shouter","hooks":["post_llm_response"]}}' ;;
	*'"hook/'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"text":"IT IS NONE"}}' ;;
	*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"ok":true}}' ;;
	esac
done
`)
		s := h.serve(script, Limits{})
		id := s.session()
		if !s.Alters(id, nil, hook.ModelReply) || s.Alters(id, nil, hook.TurnInput) {
			t.Error("the plugin changes replies, and does not read what is typed")
		}
		kinds, all := s.stream(id)
		if list := strings.Join(kinds, " "); strings.Contains(list, "text ") || !strings.Contains(list, "text.held text.held") {
			t.Errorf("events %s", list)
		}
		if strings.Contains(all, "secret") || !strings.Contains(all, "IT IS NONE") {
			t.Errorf("the stream has\n%s", all)
		}
		if got := s.do("POST", "/session/"+id+"/message", `{"text":"again"}`).body; strings.Contains(got, "secret") || !strings.Contains(got, "IT IS NONE") {
			t.Errorf("the answer is %s", got)
		}
	})
	t.Run("text is streamed if the plugins only observe it", func(t *testing.T) {
		plugtest.NeedTool(t, "sh")
		h := newTestHome(t)
		h.program(".config/dotagent/plugins/dotagent-plugin-keep", `#!/bin/sh
case "$1" in
info) echo '{"name":"keep","version":"1.0.0","kinds":["sink"]}' ;;
*) cat >"$HOME/kept.json"; echo '{"ok":true}' ;;
esac
`)
		h.write(".config/patchbay/config.toml", "[[connect]]\nplugin = \"keep\"\nhook = \"sink\"\npoint = \"turn.final\"\n")
		s := h.serve(script, Limits{})
		kinds, _ := s.stream(s.session())
		if list := strings.Join(kinds, " "); !strings.Contains(list, "text text text text") || strings.Contains(list, "text.held") {
			t.Errorf("events %s", list)
		}
		if kept, err := os.ReadFile(h.home + "/kept.json"); err != nil || !strings.Contains(string(kept), "it is a secret") {
			t.Errorf("the sink has %s, %v", kept, err)
		}
	})
}
