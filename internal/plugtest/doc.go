// Package plugtest has what the tests of all dialects share: fakes that misbehave by name, the
// suite that every long-lived dialect must pass, transcripts of the protocols, and a reader of the
// protocol documents. No product code imports it.
//
//	Main, InstallFake   fake.go       the test binary itself, started under a fake's name
//	Says, Hang, Record  program.go    fakes of dialects that start a plugin for each call
//	Suite.Run           suite.go      each misbehaviour beside a plugin that behaves
//	OpenAll, Bench      suite.go      plugins on their own bus
//	Transcripts.Run     transcript.go conversations in testdata, played by the test binary
//	Seed                seed.go       blocks, spans and rows of a protocol document
//	Result              result.go     what a plugin answered
//	Ripening            deadline.go   a deadline that passes when the test says so
//	Listen              pipe_unix.go  what a process writes until it is gone
//	Page                pages.go      files and commands of a page of docs/, typed as printed
//	NeedTool            tool.go       programs that a test needs: skipped with a reason, in CI a failure
package plugtest
