"use strict";
// A platform service in plain Node.js: it counts the words of a text file.
//
//   LUCIUS_URL=http://127.0.0.1:8700 node service.js     (LUCIUS_API_KEY, if Lucius asks for one; MEMORY, a directory)

const crypto = require("node:crypto");
const fs = require("node:fs/promises");
const path = require("node:path");
const { fileURLToPath, pathToFileURL } = require("node:url");
const { Failure, Runner, pause } = require("./lucius.js");
const { Memory } = require("./memory.js");

/** The payload: `min_letters` of a word that counts, and `pause_seconds` to wait before counting. */
function readPayload({ min_letters = 1, pause_seconds = 0 }) {
  for (const [name, value] of Object.entries({ min_letters, pause_seconds })) {
    if (typeof value !== "number" || !(value >= 0)) {
      throw new Failure("INVALID_PAYLOAD", `${name} must be a number from 0.`);
    }
  }
  return { min_letters, pause_seconds };
}

async function countWords(directive, signal) {
  const { min_letters, pause_seconds } = readPayload(directive.payload);
  const text = await readInput(directive.input_ref.uri);
  await pause(pause_seconds * 1000, signal);
  signal.throwIfAborted();
  const words = text.split(/\s+/).filter((word) => word.length >= Math.max(1, min_letters)).length;
  const ref = await write(directive, "count.json", JSON.stringify({ words }));
  return { output_ref: ref, artifacts: [ref] };
}

async function readInput(uri) {
  if (!uri.startsWith("file:")) throw new Failure("INPUT_SCHEME", "This service reads file: references only.");
  try {
    return await fs.readFile(fileURLToPath(uri), "utf8");
  } catch (error) {
    if (error.code === "ENOENT") throw new Failure("INPUT_MISSING", `${uri} is not there.`);
    throw error; // this may pass: Lucius waits and makes another attempt
  }
}

/** Write into the attempt's own folder; what later steps need to find the file and to trust it. */
async function write(directive, name, text) {
  const workspace = fileURLToPath(directive.workspace_ref.uri);
  const folder = path.join(workspace, directive.step_type, String(directive.attempt_no));
  await fs.mkdir(folder, { recursive: true });
  const file = path.join(folder, name);
  await fs.writeFile(file, text);
  const sha256 = crypto.createHash("sha256").update(text).digest("hex");
  return { uri: pathToFileURL(file).href, content_type: "application/json", size: Buffer.byteLength(text), sha256 };
}

async function main() {
  const memory = new Memory(process.env.MEMORY ?? path.join(__dirname, "memory"));
  await memory.open();
  const runner = new Runner({
    url: process.env.LUCIUS_URL ?? "http://127.0.0.1:8700",
    key: process.env.LUCIUS_API_KEY,
    stepType: "WORD_COUNT",
    concurrency: 4,
    memory,
    work: countWords,
  });
  for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => runner.stop());
  await runner.run();
  process.exit(0);
}

main();
