// Package plugtest has what the tests of all dialects share: fakes that misbehave by name, the
// suite that every long-lived dialect must pass, transcripts of the protocols, and a reader of the
// protocol documents. No product code imports it.
//
//	Main, InstallFake        fake.go               the test binary itself, started under a fake's name
//	PlayFault, InstallFault  fault.go              plugins that misbehave at a chosen moment (fault_*.go)
//	PlayMCP, InstallMCP      mcp.go                the test binary as an MCP server
//	Says, Hang, Record       program.go            fakes of dialects that start a plugin for each call
//	Suite.Run                suite.go              each misbehaviour beside a plugin that behaves
//	OpenAll, Bench           suite.go              plugins on their own bus
//	Transcripts.Run          transcript_host.go    conversations in testdata (transcript.go)
//	PlayPart                 transcript_plugin.go  the test binary as the plugin of a transcript
//	Seed                     seed.go               blocks, spans and rows of a protocol document
//	Result                   result.go             the result of a plugin's answer
//	Ripening                 deadline.go           a deadline that passes when the test says so
//	NamedPipe, Listen        pipe_unix.go          the output of a process until it is gone
//	SmallDisk                disk_linux.go         a small file system
//	Log                      log.go                the log of a test
//	Page                     pages.go              files and commands of a page of docs/, typed as printed
//	NeedTool                 tool.go               a program that a test needs: without it the test is skipped, in CI it fails
package plugtest
