//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestConfigEditAsksToEditAgain: at a terminal a mistake is shown, and the user can edit again.
func TestConfigEditAsksToEditAgain(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for rule, c := range map[string]struct{ answer, code, want string }{
		"yes": {"Enter", "code 0", "sandbox = \"off\"\n"},
		"no":  {"n", "code 5", ""},
	} {
		t.Run(rule, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, "editor", "if [ -e again ]; then echo 'sandbox = \"off\"'; else echo 'sandbox = 1'; fi >\"$1\"\n: >again\n")
			cmd := patchbayIn(home, "-c", "EDITOR='sh editor' patchbay config edit; echo code $?; read end")
			cmd.Path = shell
			term := openTerminal(t, cmd)
			term.shows("config.toml:1:11: sandbox:", "Edit again? [Y/n]")
			term.keys(c.answer)
			if c.answer != "Enter" {
				term.keys("Enter")
			}
			term.shows(c.code)
			got, err := os.ReadFile(filepath.Join(home, ".config/patchbay/config.toml"))
			if string(got) != c.want || (err == nil) != (c.want != "") {
				t.Errorf("the file is %q (%v), want %q", got, err, c.want)
			}
		})
	}
}
