"use strict";
// What became of finished attempts: one JSON file each, so that a restart finds it. A file is written under
// another name and renamed, so that a crash leaves a whole file or none.

const crypto = require("node:crypto");
const fs = require("node:fs/promises");
const path = require("node:path");

const KEEP_MS = 14 * 24 * 3600 * 1000; // longer than any directive is sent again

class Memory {
  constructor(directory) {
    this.directory = directory;
  }

  async open() {
    await fs.mkdir(this.directory, { recursive: true });
    for (const name of await fs.readdir(this.directory)) {
      const file = path.join(this.directory, name);
      const { mtimeMs } = await fs.stat(file);
      if (Date.now() - mtimeMs > KEEP_MS) await fs.rm(file, { force: true });
    }
  }

  /** The RESULT that was stored for an attempt, or null. */
  async recall(key) {
    try {
      return JSON.parse(await fs.readFile(this.#file(key), "utf8"));
    } catch (error) {
      if (error.code === "ENOENT") return null;
      throw error;
    }
  }

  async store(key, result) {
    const file = this.#file(key);
    const draft = `${file}.${process.pid}.tmp`;
    const handle = await fs.open(draft, "w");
    try {
      await handle.writeFile(JSON.stringify(result));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(draft, file);
  }

  #file(key) {
    return path.join(this.directory, crypto.createHash("sha256").update(key).digest("hex") + ".json");
  }
}

module.exports = { Memory };
