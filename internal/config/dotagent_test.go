package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestJobSecrets: the secrets of dotagent's secrets.env are added to our own, which take
// precedence.
func TestJobSecrets(t *testing.T) {
	d := Dirs{Home: t.TempDir()}
	write := func(text string, mode os.FileMode) {
		t.Helper()
		path := d.DotagentSecrets()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	own := &Secrets{names: map[string]Secret{"BOTH": NewSecret("ours")}}

	t.Run("without the file there are only our own secrets", func(t *testing.T) {
		all, problems := d.JobSecrets(own)
		if got, _ := all.Lookup("BOTH"); got.Reveal() != "ours" || problems != nil {
			t.Errorf("got %q, %v", got.Reveal(), problems)
		}
	})
	t.Run("our own secrets come first, and dotagent's lines are read as dotagent reads them", func(t *testing.T) {
		write("# tokens\n\nBOTH=theirs\nexport PLAIN = a b \nDOUBLE=\"x\\ny\\\\n\\\"\"\nSINGLE='a\\n$HOME'\nEMPTY=\nQUOTED=\"a=b\"\n", 0o600)
		all, problems := d.JobSecrets(own)
		if len(problems) > 0 {
			t.Errorf("problems: %v", problems)
		}
		for name, want := range map[string]string{"BOTH": "ours", "PLAIN": "a b", "DOUBLE": "x\ny\\n\"", "SINGLE": `a\n$HOME`, "EMPTY": "", "QUOTED": "a=b"} {
			if got, ok := all.Lookup(name); !ok || got.Reveal() != want {
				t.Errorf("%s: got %q, %v, want %q", name, got.Reveal(), ok, want)
			}
		}
	})
	t.Run("a bad line is reported by its position, does not affect the others, and is not shown", func(t *testing.T) {
		write("hush-hush\nGOOD=1\nOPEN=\"hush\nREF=op://vault/hush/field\n1X=hush\n", 0o600)
		all, problems := d.JobSecrets(own)
		if got, _ := all.Lookup("GOOD"); got.Reveal() != "1" || len(problems) != 4 || problems[0].Line != 1 || problems[1].Line != 3 {
			t.Errorf("got %v", problems)
		}
		for _, p := range problems {
			if strings.Contains(p.String(), "hush") {
				t.Errorf("it shows a secret: %s", p)
			}
		}
		if _, ok := all.Lookup("REF"); ok {
			t.Error("a reference was used as a value")
		}
	})
	t.Run("a file that others may read is refused with the chmod", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("files on Windows have no mode bits that say who may read them")
		}
		write("GOOD=1\n", 0o644)
		all, problems := d.JobSecrets(own)
		if _, ok := all.Lookup("GOOD"); ok || len(problems) != 1 || !strings.Contains(problems[0].Fix, "chmod 600") {
			t.Errorf("got %v", problems)
		}
	})
}
