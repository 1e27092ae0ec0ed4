// Package program examines the files of programs: what the kernel would execute for a name and its
// arguments, and why the start would fail. The package starts nothing. To find out what a shim
// stands for, a tool such as pyenv has to run; the caller runs it ([Ask]).
//
//	Resolver.Resolve ─► Find                        PATH look-up, as a shell does it
//	                 ├─► files.look                 #! line and rights of a file, cached while it is unchanged
//	                 ├─► hashBang.find ─► ReadEnv   the interpreter of a script, through env if the line names that
//	                 └─► shims.real ─► Ask          the program that a shim of pyenv or a similar tool stands for
//
//	Explain ─► Diagnose ─► place                    is there a file?
//	                    ├─► mount                   does its file system allow programs?
//	                    ├─► mode                    may it be executed?
//	                    ├─► content                 can the kernel execute its content?
//	                    │    ├─► script             #! line, interpreter, env
//	                    │    ├─► elf                machine, loader
//	                    │    └─► foreign            a program for another system, or no program
//	                    └─► fromError               reasons that the file does not show
//	Uninterpreted ─► script, foreign                the same before anything is started
//
//	Interpreter, Loader, Head, IsShim, ReadEnv, SearchPath   parts of this for package sandbox
//
// The files are untrusted. Only regular files are read, only up to a bound, and reading never
// blocks.
package program
