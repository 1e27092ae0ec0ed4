// Written by `patchbay hook install opencode`: installing again replaces this file, `--uninstall` removes it.
// OpenCode's hooks are functions in its own process. This one passes them to Patchbay, a line of JSON each, and
// puts what comes back into OpenCode's objects, in place: OpenCode looks at nothing else.
import { spawn } from "node:child_process"

const start = "START" // the program and its arguments
const waits = "WAITS" // hook → how long an answer may take, in milliseconds

const off = () => process.env.PATCHBAY_HOOK === "off"
const wayOut = "To go on without Patchbay: PATCHBAY_HOOK=off, or `patchbay hook install opencode --uninstall`."

let child = null // the program while it runs
let next = 1
const waiting = new Map() // id → what to do with the answer

function giveUp(program, why) {
  if (child !== program) return
  child = null
  for (const answer of waiting.values()) answer({ failed: why })
  waiting.clear()
}

function running() {
  if (child) return child
  const program = spawn(start[0], start.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
  child = program
  let rest = ""
  program.stdout.setEncoding("utf8")
  program.stdout.on("data", (text) => {
    const lines = (rest + text).split("\n")
    rest = lines.pop()
    for (const line of lines) {
      let reply
      try {
        reply = JSON.parse(line)
      } catch {
        continue // not for us
      }
      waiting.get(reply.id)?.(reply)
    }
  })
  program.on("error", (e) => giveUp(program, `${start[0]} cannot be started: ${e.message}`))
  program.on("exit", (code) => giveUp(program, `${start[0]} has ended with ${code}`))
  program.stdin.on("error", () => {}) // the exit says more
  program.unref?.()
  return program
}

// ask sends one event. What comes back is {output}, {deny} or {failed}.
function ask(event, input, output, directory) {
  return new Promise((resolve) => {
    const id = next++
    const program = running()
    const timer = setTimeout(() => done({ failed: `no answer in ${waits[event] / 1000} s` }), waits[event])
    const done = (reply) => {
      clearTimeout(timer)
      waiting.delete(id)
      resolve(reply)
    }
    waiting.set(id, done)
    program.stdin.write(JSON.stringify({ id, event, dir: directory, input, output }) + "\n")
  })
}

// settle makes an object what another one says, without replacing it.
function settle(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  for (const [key, value] of Object.entries(source)) {
    const old = target[key]
    if (Array.isArray(old) && Array.isArray(value)) old.splice(0, old.length, ...value)
    else if (plain(old) && plain(value)) settle(old, value)
    else target[key] = value
  }
}

const plain = (v) => v !== null && typeof v === "object" && !Array.isArray(v)

// gates are the hooks that can refuse something. Where Patchbay cannot be asked about one, it is asked once more, in a
// process of its own, which knows what may go on without an answer.
const gates = new Set(["tool.execute.before", "chat.message"])

async function handle(event, input, output, directory) {
  if (off()) return
  let reply = await ask(event, input, output, directory)
  if (reply.failed && gates.has(event)) reply = await ask(event, input, output, directory)
  if (reply.failed) {
    console.error(`patchbay: ${event}: ${reply.failed}. ${wayOut}`)
    return
  }
  if (reply.deny !== undefined) throw new Error(reply.deny)
  if (reply.output && output) settle(output, reply.output)
}

export const Patchbay = async ({ directory, worktree }) => {
  const dir = directory || worktree || process.cwd()
  const hooks = {}
  for (const event of Object.keys(waits)) {
    if (event.startsWith("event:")) continue
    hooks[event] = (input, output) => handle(event, input, output, dir)
  }
  const events = Object.keys(waits).filter((name) => name.startsWith("event:"))
  if (events.length > 0) {
    hooks.event = async ({ event }) => {
      const name = "event:" + event.type
      if (events.includes(name)) await handle(name, event.properties ?? {}, undefined, dir)
    }
  }
  return hooks
}
