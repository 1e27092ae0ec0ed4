//go:build unix

package program

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestMain is also a program that asks as another user: "binary -diagnose PATH" prints the
// diagnosis as seen by him.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "-diagnose" {
		d := Diagnose(os.Args[2], nil, syscall.EACCES)
		fmt.Printf("%s|%s", d.Why, d.Fix)
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}
