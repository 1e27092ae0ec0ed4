// Package plugtest is what the tests of all dialects share: fakes that misbehave by name, the suite
// that every long-lived dialect must pass, transcripts of the protocols, and the protocol
// documents, read where they lie. No product code imports it.
//
//	Main, InstallFake   fake.go       the test binary itself, started under a fake's name
//	Says, Hang, Record  program.go    fakes of dialects that start a plugin for each call
//	Suite.Run           suite.go      each misbehaviour beside a plugin that behaves
//	OpenAll, Bench      suite.go      plugins on a bus of their own
//	Transcripts.Run     transcript.go conversations in testdata, played by the test binary
//	Seed                seed.go       blocks, spans and rows of a protocol document
//	Ripening            deadline.go   a deadline that comes when the test says so
//	Listen              pipe_unix.go  what a process says until it is gone
//	Page                pages.go      files and commands of a page of docs/, typed as they are printed
//	NeedTool            tool.go       programs a test needs: skipped with a reason, in CI a failure
package plugtest
