// The work that a plugin in JavaScript must be able to do in the box: legitimate.mjs NAME KEY=VALUE…, or list. Prints "ok" or why not.

import assert from "node:assert";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import tls from "node:tls";
import { Worker } from "node:worker_threads";

const ask = (host, port) =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ host, port: Number(port) });
    socket.once("data", (data) => (socket.destroy(), resolve(String(data))));
    socket.once("error", reject);
  });

const works = {
  "read-own-files": () => assert(readFileSync(process.argv[1], "utf8").includes("works")),
  "read-granted-path": (t) => assert.equal(readFileSync(t.note, "utf8"), "to be read"),
  "write-granted-path": (t) => writeFileSync(`${t.scratch}/written`, "by the plugin"),
  "write-private-tmp": (t) => writeFileSync(`${os.tmpdir()}/${t.stray}`, "private"),
  "read-granted-path-in-home": (t) => assert.equal(readFileSync(`${os.homedir()}/notes/note`, "utf8"), readFileSync(`${t.notes}/note`, "utf8")),
  "write-home": () => writeFileSync(`${os.homedir()}/new`, "x"),
  "work-in-own-directory": (t) => {
    assert(readFileSync("legitimate.mjs", "utf8").includes("works"));
    writeFileSync("../scratch/relative", "x");
    assert.equal(readFileSync(`${t.scratch}/relative`, "utf8"), "x");
  },
  "run-granted-program": (t) => assert(execFileSync(t.tool).length > 0),
  "run-itself": () => assert.equal(String(execFileSync(process.execPath, ["-p", "6*7"])), "42\n"),
  "connect-to-granted-address": async (t) => assert.equal(await ask("127.0.0.1", t.port), "granted\n"),
  "connect-to-granted-name": async (t) => assert.match(await ask(t.name, t.port), /^canary-/),
  "use-randomness": () => assert.equal(randomBytes(8).length, 8),
  "use-certificates": () => assert(tls.rootCertificates.length > 0 && tls.createSecureContext()),
  "use-time-zones": () => assert.match(new Date(0).toLocaleString("de-DE", { timeZone: "Europe/Berlin" }), /1970/),
  "compile": () => assert.equal([...Array(1e6).keys()].reduce((a, b) => (a + b) % 7), 0),
  "run-thread": () =>
    new Promise((resolve, reject) => {
      const worker = new Worker("require('worker_threads').parentPort.postMessage(1)", { eval: true });
      worker.once("message", resolve);
      worker.once("error", reject);
    }),
};

const [name, ...pairs] = process.argv.slice(2);
if (name === "list") {
  console.log(Object.keys(works).join("\n"));
} else {
  const target = Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]));
  try {
    await works[name](target);
    console.log("ok");
  } catch (error) {
    console.log(String(error.stack).slice(0, 600));
  }
}
