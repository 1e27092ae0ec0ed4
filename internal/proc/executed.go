package proc

// Interpreter returns the interpreter that the #! line of a script names, and the one argument that the kernel passes on to it. Both are empty
// for a file that is no script.
func Interpreter(file string) (path, arg string) {
	line := interpreterLine(readHead(file))
	return line.path, line.arg
}

// Head returns the first bytes of a regular file, as many as the kernel looks at. It is empty for anything else, and waits for nothing.
func Head(file string) []byte { return readHead(file) }

// Loader returns the program that the kernel starts to load an ELF program. It is empty for a static program and for any other file.
func Loader(file string) string {
	program, f, err := openELF(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	return loaderOf(program)
}

// IsShim reports whether a file lies where pyenv and its relatives put their shims.
func IsShim(file string) bool { return isShim(file) }
