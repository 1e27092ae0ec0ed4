// Package dotagent speaks the dotagent protocol (seed 000): a plugin is any program called
// dotagent-plugin-<name>, started once for each call with a verb as its only argument, JSON on
// stdin, JSON on stdout.
//
//	Find                 dotagent.go   four places, the first of a name wins
//	Open                 plugin.go
//	  learn              plugin.go     the verb info
//	    parseInfo        manifest.go   what the plugin says of itself
//	  CheckConfig        plugin.go     its config: the schema, then the verb validate
//	Hooks, Connect       plugin.go     preflight, sink, notify
//	  invocation         translate.go  event to payload (connect.go: at points not its own)
//	  run                call.go       one process, one verb; standby, deadline, group kill
//	  answer             call.go       exit code and stdout to ok, error, suggest
//
// What it is not: it knows no agents, schedules or manifests of jobs. Which plugin a job asks, with
// which config and for which events, is the job adapter's to say. The protocol's own words stay in
// wire.go.
package dotagent
