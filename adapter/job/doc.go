// Package job runs agents on schedules: programs that are described by an agent.toml, started at
// times, tried again where they fail, with plugins that are asked before (preflight), given what
// came out (sinks) and told what happened (notify).
//
// It is not a daemon, a command line or a store: what it needs of those is given to it. It knows no
// plugin protocol: it fires points, as every adapter does. Messages to people are sent by package
// notify.
//
// # The parts
//
//	manifest*.go    an agent.toml, checked; the directories that hold agents; what changes in them
//	schedule*.go    when an agent is due: ticks, time zones, daylight saving
//	scheduler.go    ticks and retries that are due become orders in a queue
//	plan.go         when they are, be it that the clock was set
//	order.go        what is due: a run, or its next attempt
//	run.go          one order is taken by one machine: a run, and its attempts
//	byhand.go       runs that a person asks for, and dry ones
//	held.go         who makes a run, and whether that process lives
//	mend.go         runs whose process has died
//	cancel.go       runs that are ended on purpose, from anywhere
//	attempt.go      one attempt: preflights, the program, the sinks
//	settle.go       what an attempt came to, and whom it concerns: the events
//	tell.go         the hooks and notifiers that want to hear of an event, told
//	record.go       a run, its attempts, and the state of a schedule, as they are kept
//	store.go        where they are kept
//	page.go         a schedule's state and its active run: one value, changed by compare-and-set
//	history.go      the runs that are over: a log for each agent, and how one of them is found in it
//	keep.go         what agents have printed
//
// # From a file to a tick
//
//	Watch                       manifest_watch.go    says when to read again
//	LoadDirs
//	  findManifests             manifest_load.go     one directory an agent
//	  Load ─ Parse                                   one file; all complaints at once
//	    readManifest            manifest_read.go     [agent] [run] [env] [defaults]
//	      readSecurity          manifest_hooks.go    [security], which hooks and [run] are held against
//	      readSchedules         schedule_read.go     [[schedules]]
//	        compile                                  fields or an expression into a timing
//	      readHooks             manifest_hooks.go    [[preflight]] [[on_success]] [[on_failure]]
//	      readNotifiers         manifest_notifiers.go
//	Schedule.Next, Schedule.Due schedule.go
//	  every.next                schedule_clock.go    intervals, from 1970
//	  clock.next                                     what clocks on walls show, in a zone
//	runID                       history.go           one name for one tick, on every machine
//
// # From a tick to the history
//
//	Scheduler.order ─ the queue ─ Scheduler.work
//	  claim.begin, claim.goOn   run.go               the attempt into the page: who writes it has it
//	  claim.make                                     the attempt itself
//	  claim.settle
//	    settle                  settle.go            what it came to
//	    claim.change            run.go               a run that is over: into the history, then out of the page
//	Scheduler.sweep
//	  Runner.mend               mend.go              pages whose process has died
//
// What the engine keeps in memory is bounded by the number of schedules, not of runs: each has one
// page, one sign of life and one topic for what it prints, and an agent's runs share the topic of
// its history.
//
// # What a manifest may say beyond the original
//
// A schedule may have a `timezone`, by name; without one its hours are the machine's own.
// `weekdays` left out of a cron schedule means every day. Paths may begin with ~. An agent without
// schedules runs when a person asks.
//
// What the original has beyond the list that Patchbay goes by is refused as an unknown key, not
// passed over: an agent that relies on it would run otherwise than its author thinks.
package job
