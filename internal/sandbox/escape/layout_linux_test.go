package escape

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

//go:embed testdata
var testdata embed.FS

// layOut creates the directories of the arena, for the host's user. The host creates what changes
// from attempt to attempt (canaries).
func layOut(secret string) error {
	uid, err := strconv.Atoi(os.Getenv("HOST_UID"))
	if err != nil {
		return err
	}
	for _, dir := range []string{arenaDir, ownDir, secretDir, grantDir, writeDir, toolDir, homeDir, notesDir, arenaDir + "/" + secret} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.Chown(dir, uid, -1); err != nil {
			return err
		}
	}
	if err := copyScripts(uid); err != nil {
		return err
	}
	if err := copyFile("/proc/self/exe", arenaDir+"/"+secret+"/host", 0o755); err != nil {
		return err
	}
	if err := copyFile("/proc/self/exe", ownDir+"/plugin", 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(ownDir+"/by-loader", []byte("#!"+loader()+" --version\n"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(secretDir+"/canary", []byte(secret+" is a secret\n"), 0o644); err != nil {
		return err
	}
	if err := os.Chown(secretDir+"/canary", uid, -1); err != nil {
		return err
	}
	return makeTool(secret)
}

// copyScripts copies the files of testdata, without their directories, to the plugin's own files.
func copyScripts(uid int) error {
	return fs.WalkDir(testdata, "testdata", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := testdata.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(ownDir, path.Base(name))
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
		return os.Chown(to, uid, -1)
	})
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}

// makeTool writes the granted program. It is setuid root if the arena allows that. It prints the
// secret only to root, and "tool" to other users.
func makeTool(secret string) error {
	tool := toolDir + "/tool"
	if err := os.WriteFile(tool, program(secret+"\n", "tool\n"), 0o755); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if err := os.Chmod(tool, 0o755|os.ModeSetuid); err != nil {
		return fmt.Errorf("setuid: %w", err)
	}
	return nil
}
