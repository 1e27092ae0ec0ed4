// A program that uses the API through types generated from the daemon's OpenAPI description. It
// requests plugins, jobs, runs and health, sends a message, and compares each answer with its
// schema (conforms.ts).
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";
import { check } from "./conforms.js";

type Plugin = components["schemas"]["Plugin"];
type Run = components["schemas"]["JobRun"];

const baseUrl = process.argv[2];
assert(baseUrl, "usage: main.js ADDRESS");
const client = createClient<paths>({ baseUrl });
client.use({ onResponse: check(baseUrl) });

// got returns the answer, or throws the daemon's error. On request some routes answer with a stream
// of events, which is a string here.
function got<T>(answer: { data?: T; error?: object; response: Response }): Exclude<T, string | undefined> {
  const { data, error, response } = answer;
  if (data === undefined || typeof data === "string") throw new Error(`${response.url}: ${JSON.stringify(error ?? data)}`);
  return data as Exclude<T, string | undefined>;
}

async function plugins(): Promise<void> {
  const list: Plugin[] = got(await client.GET("/v1/plugins"));
  assert(list.length >= 5, `${list.length} plugins`);
  for (const { dialect, name } of list) {
    const one = got(await client.GET("/v1/plugins/{name}", { params: { path: { name: `${dialect}:${name}` } } }));
    assert.equal(one.name, name);
    const size: number | undefined = one.manifest?.text.length;
    console.log(`plugin ${name}: ${one.state}, ${one.wiring.length} hooks, manifest of ${size ?? 0} characters`);
  }
  const tools = got(await client.GET("/v1/tools"));
  assert(tools.every((tool) => typeof tool.parameters === "object"));
}

async function message(): Promise<void> {
  const session = got(await client.POST("/v1/sessions", { body: { title: "typed" } }));
  const path = { id: session.id };
  const turn = got(await client.POST("/v1/sessions/{id}/message", { params: { path }, body: { text: "hello" } }));
  assert.equal(turn.status, "done");
  assert.equal(turn.error, null);
  console.log(`message: ${turn.text.split("\n")[0]}, ${turn.usage.input} tokens`);
  const transcript = got(await client.GET("/v1/sessions/{id}/transcript", { params: { path } }));
  assert(transcript.some((entry) => entry.message?.role === "assistant"));
  const sessions = got(await client.GET("/v1/sessions"));
  assert(sessions.some(({ id, title }) => id === session.id && title === "typed"));
  const { traces } = got(await client.GET("/v1/traces", { params: { query: { session: session.id } } }));
  assert(traces.length > 0);
  for (const { id } of traces) {
    const { outcome } = got(await client.GET("/v1/traces/{id}", { params: { path: { id } } }));
    for (const step of outcome.steps) console.log(`trace ${outcome.point}: ${step.plugin} changed ${step.diff?.length ?? 0} values`);
  }
}

async function jobs(): Promise<void> {
  const list = got(await client.GET("/v1/jobs"));
  const greeter = list.find(({ agent }) => agent === "greeter");
  assert(greeter, "no agent greeter");
  assert.equal(greeter.last_run, null);
  const begun = got(await client.POST("/v1/jobs/{agent}/run", { params: { path: { agent: "greeter" } }, body: {} }));
  const run = await ended(begun);
  assert.equal(run.status, "succeeded");
  const [agent, schedule, time] = run.id.split("/") as [string, string, string];
  const output = got(await client.GET("/v1/runs/{agent}/{schedule}/{time}/output", { params: { path: { agent, schedule, time } } }));
  console.log(`run ${run.agent}: ${run.attempts?.length ?? 0} attempts, ${output.length} lines`);
  const { runs } = got(await client.GET("/v1/runs"));
  assert(runs.some(({ id }) => id === run.id));
  assert.equal(got(await client.GET("/v1/jobs/{agent}", { params: { path: { agent } } }))[0]?.last_run?.id, run.id);
}

// ended requests a run until it is over.
async function ended(run: Run): Promise<Run> {
  const [agent, schedule, time] = run.id.split("/") as [string, string, string];
  for (const until = Date.now() + 60_000; Date.now() < until && run.status === "running"; ) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    run = got(await client.GET("/v1/runs/{agent}/{schedule}/{time}", { params: { path: { agent, schedule, time } } }));
  }
  return run;
}

async function rest(): Promise<void> {
  const health = got(await client.GET("/v1/health"));
  console.log(`health: ${health.status}, ${health.plugins["ready"] ?? 0} plugins ready, engine ${health.engine.mode}`);
  const { findings } = got(await client.GET("/v1/doctor"));
  console.log(`doctor: ${findings.length} findings`);
  got(await client.GET("/v1/daemon"));
  got(await client.GET("/v1/latencies"));
  got(await client.GET("/v1/pipeline"));
  got(await client.GET("/v1/turns"));
  got(await client.GET("/features"));
  got(await client.GET("/plugin/list"));
  got(await client.POST("/v1/fire", { body: { point: "turn.input", data: { message: "hello" }, trace: true } }));
  const missing = await client.GET("/v1/plugins/{name}", { params: { path: { name: "nope" } } });
  assert.equal(missing.response.status, 404);
  assert.match(missing.error?.detail ?? "", /nope/);
}

await plugins();
await jobs();
await message();
await rest();
