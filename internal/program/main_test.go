//go:build unix

package program

import (
	"fmt"
	"os"
	"syscall"
	"testing"
)

// TestMain also diagnoses as another user: "binary -diagnose PATH" prints the diagnosis that this
// user gets.
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
	if err := os.Chmod(path, mode); err != nil { // regardless of the umask
		t.Fatal(err)
	}
}
