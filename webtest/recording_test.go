package webtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
)

// A turn is saved as a recording, which `patchbay trace replay` replays without a difference.
func TestTraceRecording(t *testing.T) {
	s := newSite(t)
	if _, routes := s.do("GET", "/openapi.json", nil, nil); !strings.Contains(string(routes), `"/v1/recording"`) {
		t.Skip("this daemon has no route /v1/recording: no recording is saved and replayed")
	}
	session := s.begin()
	turn := s.say(session, "record me").Turn
	p := newTab(t, s, "/trace/"+session+"/"+turn)
	dir := t.TempDir()
	p.run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir).WithEventsEnabled(true))
	p.click("=Save as a recording")
	var file string
	eventually(t, "the download", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, one := range found {
			if info, err := os.Stat(one); err == nil && info.Size() > 0 && !strings.HasSuffix(one, ".crdownload") {
				file = one
			}
		}
		return file != ""
	})
	cmd := exec.Command(binary, "trace", "replay", file)
	cmd.Dir, cmd.Env = s.Home, environ(s.Home)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "went as recorded") {
		t.Fatalf("trace replay: %v\n%s", err, out)
	}
}
