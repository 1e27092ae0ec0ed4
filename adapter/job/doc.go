// Package job runs agents on schedules. An agent is a program that an agent.toml describes. The
// package starts the program when it is due and tries again when it fails. Plugins are called
// before each attempt (preflight), with the output of a success (sinks), and when something
// happened (notify).
//
// The package has no daemon, no command line and no engine: its callers provide them. It knows no
// plugin protocol: it fires points, as every adapter does. Package notify sends the messages to
// people.
//
// # The files
//
//	manifest*.go    read and check an agent.toml; find the directories of agents; watch them
//	clock.go        the system's clock, and whether it was set
//	schedule*.go    compute when an agent is due: ticks, time zones, daylight saving
//	scheduler.go    put orders for due ticks and retries into a queue, and take them out
//	plan.go         decide what is due for one schedule, also after the clock was set
//	order.go        an order: a run, or its next attempt
//	run.go          claim one order for this process, and make its attempt
//	manual.go       runs that a person starts, and dry runs
//	hold.go         which process makes a run, and whether it is alive
//	reap.go         end the runs of processes that have died
//	cancel.go       cancel a run, whichever process makes it
//	attempt.go      one attempt: preflights, the program, the sinks
//	confine.go      the sandbox of the program
//	heartbeat.go    AGENT_HEARTBEAT_FILE, which dotagent's users read
//	result.go       apply the result of an attempt to its run, and list the events
//	diskfull.go     save a result even if the disk is full for a while
//	report.go       send events to hooks and notifiers
//	log.go          log events
//	record.go       the stored types: a run, its attempts, the state of a schedule
//	store.go        the buckets, streams and the queue of the engine
//	page.go         the state of a schedule and its active run: one value, changed by compare-and-set
//	history.go      runs that are over: one log for each agent, and the search in it
//	list.go         pages of runs, the latest first
//	output.go       what agents have printed
//
// # From a file to a tick
//
//	Watch                       manifest_watch.go    reports that manifests may have changed
//	LoadDirs
//	  findManifests             manifest_load.go     each agent has its own directory
//	  load ─ Parse                                   one file; returns all problems at once
//	    readManifest            manifest_read.go     [agent] [run] [env] [defaults]
//	      readSecurity          manifest_hooks.go    [security], which limits hooks and [run]
//	      readSchedules         schedule_read.go     [[schedules]]
//	        compile                                  turns fields or an expression into a timing
//	      readHooks             manifest_hooks.go    [[preflight]] [[on_success]] [[on_failure]]
//	      readNotifiers         manifest_notifiers.go
//	Schedule.Next, Schedule.Due schedule.go
//	  every.next                schedule_clock.go    intervals, counted from 1970
//	  clock.next                                     times of day in a zone
//	runID                       history.go           the same id for a tick on every machine
//
// # From a tick to the history
//
//	Scheduler.order ─ the queue ─ Scheduler.carryOut
//	  claim.beginRun,           run.go               write the attempt into the page: one process succeeds
//	  claim.continueRun
//	  claim.makeAttempt                              make the attempt
//	  claim.saveResult          diskfull.go
//	    applyResult             result.go            decide the status of the run, and the events
//	    claim.changeRun         run.go               write an ended run into the history, then remove it from the page
//	Scheduler.sweep
//	  Runner.reap               reap.go              end the run of a process that has died
//
// The engine's memory grows with the number of schedules, not with the number of runs. Each
// schedule has one page, one heartbeat and one topic for its output. The runs of an agent share one
// topic of the history.
//
// # Differences from dotagent
//
// A schedule may have a `timezone`, by name; without one it uses the time zone of the machine. A
// cron schedule without `weekdays` runs every day. Paths may begin with ~. An agent without
// schedules runs only when a person starts it.
//
// A key of dotagent that docs/jobs.md does not list is refused as unknown. Ignoring it would run
// the agent in another way than its author expects.
package job
