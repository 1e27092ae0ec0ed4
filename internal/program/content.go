package program

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// content checks whether the kernel can execute the content of the file.
func (d *diagnosis) content() (why, fix string) {
	if d.info.Size() == 0 {
		return emptyFile, reinstall
	}
	head := Head(d.path)
	switch {
	case head == nil:
		return "", "" // executable but not readable, so only the kernel knows
	case bytes.HasPrefix(head, []byte("#!")):
		return d.script(head)
	case bytes.HasPrefix(head, []byte(elfMagic)):
		return d.elf()
	}
	return d.foreign(head)
}

// script checks whether the interpreter of the #! line exists.
func (d *diagnosis) script(head []byte) (why, fix string) {
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	if bytes.HasSuffix(first, []byte{'\r'}) {
		return "its #! line ends in a carriage return: the file has Windows line ends", `sed -i 's/\r$//' ` + Quote(d.path)
	}
	line := interpreterLine(head)
	call, env := line.throughEnv(d.path, nil, d.env)
	switch {
	case line.path == "":
		return "its #! line names no interpreter", "begin the file with a line like #!/bin/sh"
	case !exists(line.path):
		return "its interpreter " + line.path + " does not exist", "install it, or change the #! line"
	case !executable(line.path):
		return "its interpreter " + line.path + " is not executable", "chmod +x " + Quote(line.path)
	case env && strings.Contains(call.Name, " "):
		return "the kernel passes all words after env in its #! line as one", "write #!" + line.path + " -S " + call.Name
	case env && !hasSlash(call.Name) && inPath(call.Name, d.env) == "":
		return "its interpreter " + call.Name + " is not in the PATH " + Getenv(d.env, "PATH"), "install " + call.Name + ", or extend the PATH given to the plugin"
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// elf checks whether an ELF file is a program for this machine, and whether its loader exists.
func (d *diagnosis) elf() (why, fix string) {
	const build = "install the plugin's build for "
	here := runtime.GOOS + "/" + runtime.GOARCH
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return "is a program for Linux or a BSD, not for " + here, build + here
	}
	file, err := openELF(d.path)
	if err != nil {
		return "is a damaged program: " + err.Error(), reinstall
	}
	if !machineFits(file.machine) {
		return fmt.Sprintf("is a program for %s, this machine is %s", file.machine, here), build + here
	}
	loader := file.loader
	if loader == "" || exists(loader) {
		return "", ""
	}
	if strings.Contains(loader, "musl") {
		return "needs the loader " + loader + " of musl libc, which does not exist here", "install musl, or a build for glibc"
	}
	return "needs the loader " + loader + ", which does not exist here (a system with musl libc cannot run programs for glibc)",
		"install a static build, or one for this system's C library"
}

// machineFits reports whether this machine runs programs for m. On a machine that is not listed it
// returns true.
func machineFits(m machine) bool {
	fits := map[string][]machine{
		"386":     {machine386},
		"amd64":   {machineAMD64, machine386},
		"arm":     {machineARM},
		"arm64":   {machineARM64, machineARM},
		"loong64": {machineLoong},
		"ppc64":   {machinePPC64, machinePPC},
		"ppc64le": {machinePPC64},
		"riscv64": {machineRISCV},
		"s390x":   {machineS390},
	}[runtime.GOARCH]
	for _, fit := range fits {
		if m == fit {
			return true
		}
	}
	return len(fits) == 0
}

// foreign handles files that are neither scripts nor ELF programs.
func (d *diagnosis) foreign(head []byte) (why, fix string) {
	const bom = "\xef\xbb\xbf"
	here := runtime.GOOS + "/" + runtime.GOARCH
	magic := [...]struct{ bytes, system string }{
		{"MZ", "windows"},
		{"\xcf\xfa\xed\xfe", "darwin"},
		{"\xce\xfa\xed\xfe", "darwin"},
		{"\xca\xfe\xba\xbe", "darwin"},
	}
	for _, m := range magic {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			if runtime.GOOS == m.system {
				return "", ""
			}
			return "is a program for " + m.system + ", this machine is " + here, "install the plugin's build for " + here
		}
	}
	switch {
	case runtime.GOOS == "windows":
		return "", ""
	case bytes.HasPrefix(head, []byte(bom+"#!")):
		return "a byte order mark precedes its #! line", `sed -i '1s/^\xef\xbb\xbf//' ` + Quote(d.path)
	}
	return "is neither a program nor a script: it has no #! line", "begin the file with a line like #!/bin/sh"
}

// isText reports whether a file that begins with head is a text, and not the code of a machine.
func isText(head []byte) bool {
	control := func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' }
	return len(head) > 0 && bytes.IndexFunc(head, control) < 0
}
