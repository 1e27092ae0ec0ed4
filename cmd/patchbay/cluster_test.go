package main

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patchbay-dev/patchbay/internal/engine/enginetest"
	"github.com/patchbay-dev/patchbay/internal/lease"
)

// slowScript answers twice, then calls a tool and begins an answer with a pause before each word.
const slowScript = `
- text: First answer.
- text: Second answer.
- {text: Let me look., tools: [{name: shell, arguments: {cmd: echo looked}}]}
- {text: one two three four five six, delay: %s}
`

// TestThreeDaemonsOnOneCluster: three daemons serve the same sessions. Acknowledged messages
// survive when both the daemon that runs the turn and a server of the cluster are killed.
func TestThreeDaemonsOnOneCluster(t *testing.T) {
	cluster := enginetest.Cluster(t, 3)
	var daemons []*server
	for _, delay := range []string{"0s", "0s", "10s"} { // the last one is killed in the slow answer
		home := t.TempDir()
		write(t, home, "script.yaml", fmt.Sprintf(slowScript, delay))
		write(t, home, ".config/patchbay/config.toml", fmt.Sprintf("[engine]\nurl = %q\n", cluster.URL))
		daemons = append(daemons, serve(t, home, "--script", "script.yaml"))
	}
	id := daemons[0].session(`{}`)
	for i, want := range []string{"First answer.", "Second answer."} {
		if answer, status := daemons[i].say(id, fmt.Sprintf("question %d", i+1)); status != http.StatusOK || answer.Text != want {
			t.Fatalf("daemon %d: status %d, %+v", i, status, answer)
		}
	}

	acknowledged(t, daemons[2], id) // the tool's result was shown, and the slow answer has begun
	daemons[2].kill()
	cluster.Kill(0)

	// The other daemons run on the same machine, so they usually know at once that the daemon has
	// ended. If package lease cannot tell that here, its turn may still be running, and messages
	// are refused for a while.
	if lease.Self().State() != lease.Alive {
		if _, status := daemons[0].say(id, "too early"); status != http.StatusConflict {
			t.Errorf("a session whose turn may still be running answers %d, want %d", status, http.StatusConflict)
		}
	}
	answer, status := turn{}, 0
	for deadline := time.Now().Add(patience); status != http.StatusOK && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		answer, status = daemons[0].say(id, "question 4")
	}
	if status != http.StatusOK || answer.Status != "done" {
		t.Fatalf("after the daemon that ran the turn was killed: status %d, %+v", status, answer)
	}

	got := daemons[1].transcript(id)
	want := []string{
		"turn began", "user: question 1", "assistant: First answer.", "turn done",
		"turn began", "user: question 2", "assistant: Second answer.", "turn done",
		"turn began", "user: question 3", "assistant: Let me look. (1 calls)", "tool: looked\n",
		"turn interrupted",
		"turn began", "user: question 4",
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("transcript:\n%s\nwant it to begin with:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// acknowledged sends a message and returns when the stream of its turn has shown the tool's result
// and the beginning of the answer after it. The stream stays open.
func acknowledged(t *testing.T, s *server, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/session/"+id+"/message", strings.NewReader(`{"text":"question 3"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	ran := false
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		switch lines.Text() {
		case "event: tool.finished":
			ran = true
		case "event: text":
			if ran {
				return
			}
		}
	}
	t.Fatal("the turn ended too early")
}
