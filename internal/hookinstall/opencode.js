// Written by `patchbay hook install opencode`: installing again replaces this file, `--uninstall` removes it.
// OpenCode's hooks are functions in its own process. This plugin sends each call to Patchbay as a line of JSON, and
// changes OpenCode's objects in place as the answer says, because OpenCode looks at nothing else.
import { spawn } from "node:child_process"
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

const start = "START" // the program and its arguments
const waits = "WAITS" // hook or event → how long an answer may take, in milliseconds
const refusable = "REFUSABLE" // hook whose event can be refused → its points
const closed = "CLOSED" // the file that lists the plugins that must agree
const config = "CONFIG" // the user's configuration

const wayOut = "To go on without Patchbay set PATCHBAY_HOOK=off, or run `patchbay hook install opencode --uninstall`."

let child = null // the program, while it runs
let next = 1
const waiting = new Map() // id → what to do with the answer

// giveUp ends all waiting calls to a program that has ended.
function giveUp(program, why) {
  if (child !== program) return
  child = null
  for (const done of [...waiting.values()]) done({ failed: why })
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
    for (const line of lines) answered(line)
  })
  program.on("error", (e) => giveUp(program, `${start[0]} cannot be started: ${e.message}`))
  program.on("exit", (code, signal) => giveUp(program, `${start[0]} has ended (${signal ?? code})`))
  program.stdin.on("error", () => {}) // the exit event says more
  return program
}

function answered(line) {
  try {
    const reply = JSON.parse(line)
    waiting.get(reply.id)?.(reply)
  } catch {
    // a line that is not an answer. A call that gets none times out
  }
}

// ask sends one event. The reply has output, deny or failed, or none of them.
function ask(name, message) {
  return new Promise((resolve) => {
    const id = next++
    const done = (reply) => {
      clearTimeout(timer)
      waiting.delete(id)
      resolve(reply)
    }
    const timer = setTimeout(() => done({ failed: `no answer in ${waits[name] / 1000} s` }), waits[name])
    waiting.set(id, done)
    running().stdin.write(JSON.stringify({ id, ...message }) + "\n")
  })
}

// put changes a value of an object. A nested object is changed in place, not replaced. put uses only
// an object's own properties, because a model can send the name __proto__, which otherwise stands for the prototype of
// all objects.
function put(object, key, value) {
  const old = Object.hasOwn(object, key) ? object[key] : undefined
  if (Array.isArray(old) && Array.isArray(value)) {
    old.splice(0, old.length, ...value)
  } else if (isObject(old) && isObject(value)) {
    for (const name of Object.keys(old)) if (!Object.hasOwn(value, name)) delete old[name]
    for (const [name, inner] of Object.entries(value)) put(old, name, inner)
  } else {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  }
}

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v)

// projectRoot returns the nearest directory, upwards, that contains .git. The file that lists the plugins names a project by this path.
function projectRoot(directory) {
  try {
    directory = realpathSync(directory)
  } catch {
    // a directory that does not exist is used as it is written
  }
  for (let at = directory; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at
    if (dirname(at) === at) return directory
  }
}

// mustAsk names the plugins that must agree at a hook; "": none must. It is called when Patchbay has not answered.
function mustAsk(name, directory) {
  const points = refusable[name] ?? []
  if (points.length === 0) return ""
  try {
    const file = JSON.parse(readFileSync(closed, "utf8"))
    if (file.version !== 1 || !isObject(file.points)) throw new Error("it has another format version")
    const by = file.projects?.[projectRoot(directory)] ?? file.points
    return [...new Set(points.flatMap((point) => by[point] ?? []))].join(", ")
  } catch (e) {
    if (e.code === "ENOENT") return mayRequirePlugins() ? `the plugins of ${config}, some of which may have to agree` : ""
    return `any plugin, and cannot read which plugins have to agree (${closed}: ${e.message})`
  }
}

// mayRequirePlugins is used if no daemon has written the list. It reports whether some plugin may have to agree to an
// event of an agent. Only the settings on_failure and connect can demand that.
function mayRequirePlugins() {
  try {
    return /on_failure|connect/.test(readFileSync(config, "utf8"))
  } catch (e) {
    return e.code !== "ENOENT"
  }
}

// refuse keeps a tool from running and a message from being sent. It replaces a result or a reply by the reason.
function refuse(name, output, reason) {
  if (name === "experimental.text.complete") return put(output, "text", reason)
  if (name !== "tool.execute.after") throw new Error(reason)
  if (Array.isArray(output.content)) return put(output, "content", [{ type: "text", text: reason }]) // the tool of an MCP server
  put(output, "output", reason)
  if (typeof output.metadata?.output === "string") put(output, "metadata", { ...output.metadata, output: reason }) // for the screen
}

async function handle(name, message, output, directory) {
  if (process.env.PATCHBAY_HOOK === "off") return
  let reply = await ask(name, message)
  if (reply.failed && refusable[name]) reply = await ask(name, message) // the program may have been replaced
  if (reply.failed) {
    const plugins = mustAsk(name, directory)
    if (plugins) return refuse(name, output, `Patchbay could not ask ${plugins} (${reply.failed}). ${wayOut}`)
    console.error(`patchbay: ${name}: ${reply.failed}. ${wayOut}`)
    return
  }
  if (reply.deny !== undefined) throw new Error(reply.deny)
  for (const [key, value] of Object.entries(reply.output ?? {})) put(output, key, value)
}

export const Patchbay = async ({ directory, worktree }) => {
  const dir = directory || worktree || process.cwd()
  const sessions = new Set()
  const hooks = {
    event: async ({ event }) => {
      const id = event.properties?.sessionID ?? event.properties?.info?.id
      if (id) sessions.add(id)
      const told = { ...event, properties: { ...event.properties, directory: dir } }
      if (event.type in waits) await handle(event.type, { event: "event", input: { event: told } }, {}, dir)
    },
    dispose: async () => {
      if (!("dispose" in waits)) return
      await Promise.all([...sessions].map((sessionID) => handle("dispose", { event: "dispose", input: { sessionID, directory: dir } }, {}, dir)))
      child?.stdin.end()
    },
  }
  for (const name of Object.keys(waits)) {
    if (name === "dispose" || name.startsWith("session.")) continue // they are sent above
    hooks[name] = (input, output) => handle(name, { event: name, input: { ...input, directory: dir }, output }, output, dir)
  }
  return hooks
}
