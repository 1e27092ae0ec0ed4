//go:build unix

package program

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/patchbay-dev/patchbay/internal/plugtest/variants"
)

// TestReadEnv compares ReadEnv with the real env, which runs each case and starts printf.
func TestReadEnv(t *testing.T) {
	environ := []string{"PATH=/usr/bin:/bin", "A=one two", "B=x"}
	const env = "/usr/bin/env"
	if out, err := exec.Command(env, "--version").Output(); err != nil || !strings.Contains(string(out), "GNU coreutils") {
		t.Skip("the env of this system is not GNU's, whose rules these are")
	}
	for _, args := range [][]string{
		{"printf", "%s\n", "a", "b c"},
		{"--", "printf", "%s\n", "a"},
		{"-", "printf", "%s\n", "a"},
		{"-i", "printf", "%s\n", "a"},
		{"-iv", "printf", "%s\n", "a"},
		{"C=d", "D=", "printf", "%s\n", "E=f"},
		{"-u", "A", "printf", "%s\n", "a"},
		{"-uA", "-u", "B", "printf", "%s\n", "a"},
		{"--unset=A", "--chdir=/", "printf", "%s\n", "a"},
		{"--uns", "A", "printf", "%s\n", "a"},
		{"-C", "/", "printf", "%s\n", "a"},
		{"--ignore-signal=INT", "--default-signal", "printf", "%s\n", "a"},
		{"-S", "printf %s\\n a b"},
		{"-Sprintf %s\\n a b", "c"},
		{"-vS", "printf %s\\n  a\tb "},
		{"--split-string=printf %s\\n 'a b' \"c d\" e\\_f \"g\\_h\""},
		{"-S", `printf %s\\n 'it\'s' 'a\b' "q\"r" \#x x#y # comment`},
		{"-S", `printf %s\\n ${A} "${B}y" '${B}' \$B`},
		{"-S", `printf %s\\n a '' ""`},
		{"-S", `printf %s\\n a\cb c`, "d"},
		{"-S", "-i C=d printf %s\\n a"},
		{"-S", "-u A -S", "printf %s\\n a"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			cmd := exec.Command(env, args...)
			cmd.Env = environ
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("the real env: %v", err)
			}
			call, err := ReadEnv(args, environ)
			if err != nil || call.Name != "printf" || len(call.Args) == 0 {
				t.Fatalf("%+v, %v", call, err)
			}
			if got := strings.Join(call.Args[1:], "\n") + "\n"; got != string(out) {
				t.Errorf("read %q, env says %q", got, out)
			}
		})
	}
	for name, args := range map[string][]string{
		"an unknown option":         {"-x", "printf"},
		"an unknown long option":    {"--nothing", "printf"},
		"an ambiguous long option":  {"--d", "printf"},
		"an option without a value": {"-u"},
		"an open quote":             {"-S", "printf 'a"},
		"a bare variable":           {"-S", "printf $A"},
		"a last backslash":          {"-S", "printf \\"},
		"an empty name":             {"", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := exec.Command(env, args...).Run(); err == nil {
				t.Error("the real env accepts it")
			}
			if call, err := ReadEnv(args, environ); err == nil {
				t.Errorf("%+v", call)
			}
		})
	}
	t.Run("the environment of the program", func(t *testing.T) {
		call, err := ReadEnv([]string{"-u", "A", "C=d", "PATH=/x", "x"}, environ)
		if err != nil || !slices.Equal(SearchPath(call.Env), []string{"/x"}) || Getenv(call.Env, "A") != "" || Getenv(call.Env, "C") != "d" {
			t.Errorf("%+v, %v", call, err)
		}
		if call, _ := ReadEnv([]string{"-i", "x"}, environ); !slices.Equal(SearchPath(call.Env), []string{"/bin", "/usr/bin"}) {
			t.Errorf("%+v", call)
		}
	})
}

func FuzzReadEnv(tf *testing.F) {
	f := variants.Of(tf)
	for _, s := range []string{"-S\x00a 'b' ${C}", "-i\x00A=b\x00x", "--unset=A\x00x", "-S\x00-S -S -S", "-uA\x00-C\x00/\x00x", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		call, err := ReadEnv(strings.Split(s, "\x00"), []string{"C=d"})
		if strings.Contains(call.Name, "=") || call.Name == "" && len(call.Args) > 0 {
			t.Errorf("%q: %+v, %v", s, call, err)
		}
	})
}
