// Package program looks at the files of programs: what the kernel would execute for a name and its
// arguments, and why it would not. It starts nothing. The tools of shims, which must be run to be
// understood, are run by the caller ([Ask]).
//
//	Resolver.Resolve ─► Find                        PATH look-up, as a shell does it
//	                 ├─► files.look                 #! line and rights of a file, remembered while it is unchanged
//	                 ├─► hashBang.find ─► ReadEnv   the interpreter of a script, through env where the line says so
//	                 └─► shims.real ─► Ask          the program behind a shim of pyenv and its relatives
//
//	Explain ─► Diagnose ─► place                    is there a file?
//	                    ├─► mount                   may its file system have programs?
//	                    ├─► mode                    may it be executed?
//	                    ├─► content                 can the kernel make sense of it?
//	                    │    ├─► script             #! line, interpreter, env
//	                    │    ├─► elf                machine, loader
//	                    │    └─► foreign            a program for another system, or none
//	                    └─► fromError               what the file does not show
//	Uninterpreted ─► script                         the same before anything is started
//
//	Interpreter, Loader, Head, IsShim, ReadEnv, SearchPath   the same knowledge in pieces, for package sandbox
//
// The files are foreign: each is read bounded, only where it is a regular file, and never waited
// for.
package program
