// Package dotagent speaks the dotagent protocol: docs/protocols/dotagent.md. A plugin is any
// program called dotagent-plugin-<name>. It is started once for each call, with a verb as its only
// argument, JSON on stdin and JSON on stdout.
//
//	Find                 dotagent.go   searches four places; the first plugin of a name wins
//	Open                 dotagent.go
//	  learn              plugin.go     the verb info
//	    parseInfo        manifest.go   what the plugin declares
//	  CheckConfig        plugin.go     its config: the schema, then the verb validate
//	Hooks, Connect       plugin.go     preflight, sink, notify
//	  invocation         translate.go  event to payload (connect.go: at points that are not of jobs)
//	  run                call.go       one process, one verb; standby, deadline, group kill
//	  answer             call.go       exit code and stdout to ok, error, suggest
//
// The package does not know agents, schedules or the manifests of jobs: adapter/job decides which
// plugin a job calls, with which config and for which events. The names and limits of the protocol
// are in protocol.go.
package dotagent
