"use strict";
// The contract of platform services over HTTP: ask for directives, acknowledge, settle, keep the lease alive,
// report. An attempt that comes twice is worked on once; its stored RESULT is sent as often as it is asked for.

const IDS = ["jobId", "stepId", "tenant_id", "attempt_no", "lease_id"];
const LOST = new Set(["stale_lease", "after_terminal", "conflict", "unknown"]);
const WAIT_SECONDS = 20;

/** Work that failed. `final`: trying again will not help. */
class Failure extends Error {
  constructor(code, message, { final = true } = {}) {
    super(message);
    this.code = code;
    this.final = final;
  }
}

class Runner {
  #running = new Map(); // key of an attempt -> the promise of its end
  #stop = new AbortController();
  #stopped = new Promise((resolve) => this.#stop.signal.addEventListener("abort", resolve, { once: true }));

  /** `work(directive, signal)` resolves to the fields of a RESULT, or throws. */
  constructor({ url, key, stepType, concurrency, memory, work }) {
    Object.assign(this, { url, key, stepType, concurrency, memory, work });
  }

  /** Take nothing new; `run` resolves when the running work is reported. */
  stop() {
    this.#stop.abort();
  }

  async run() {
    while (!this.#stop.signal.aborted) {
      const room = this.concurrency - this.#running.size;
      if (room === 0) {
        await Promise.race([...this.#running.values(), this.#stopped]);
        continue;
      }
      for (const lent of await this.#receive(room)) {
        this.#take(lent);
      }
    }
    await Promise.all(this.#running.values());
  }

  async #receive(max) {
    const wanted = { step_types: [this.stepType], max, wait_seconds: WAIT_SECONDS };
    try {
      const answer = await post(`${this.url}/v1/directives:receive`, wanted, this.key, this.#stop.signal);
      return answer.directives;
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        console.error(`cannot reach Lucius: ${error.message}`);
        await pause(1000, this.#stop.signal);
      }
      return [];
    }
  }

  #take(lent) {
    const key = isDirective(lent.directive) ? JSON.stringify(IDS.map((name) => lent.directive[name])) : null;
    if (key === null) {
      this.#track(lent.lock_token, this.#settle(lent, "dead_letter", "This is no directive."));
    } else if (this.#running.has(key)) {
      this.#track(lent.lock_token, this.#settle(lent, "complete")); // it is being worked on: one RESULT will do
    } else {
      this.#track(key, this.#attempt(lent, key));
    }
  }

  #track(key, promise) {
    const over = promise
      .catch((error) => console.error(`gave up: ${error.message}`))
      .finally(() => this.#running.delete(key));
    this.#running.set(key, over);
  }

  async #attempt(lent, key) {
    const directive = lent.directive;
    let result = await this.memory.recall(key);
    await reply(directive, "ack");
    await this.#settle(lent, "complete");
    if (result === null) {
      result = await this.#worked(directive);
      if (result === null) return; // the lease is lost: somebody else does it
      await this.memory.store(key, result); // before it is sent: what was reported once must be found again
    }
    const { verdict } = await reply(directive, "result", result);
    console.log(directive.jobId, result.status, verdict);
  }

  async #worked(directive) {
    const work = new AbortController();
    const pulse = setInterval(async () => {
      try {
        const heard = await post(directive.callback_urls.heartbeat, naming(directive), directive.callback_token);
        if (LOST.has(heard.verdict)) work.abort("lost");
        else if (heard.cancel_requested) work.abort("cancelled");
      } catch (error) {
        console.error(`no answer to a heartbeat: ${error.message}`); // the next one may get through
      }
    }, rhythm(directive));
    try {
      return { status: "SUCCEEDED", ...(await this.work(directive, work.signal)) };
    } catch (error) {
      return work.signal.aborted && work.signal.reason === "lost" ? null : failed(error, work.signal);
    } finally {
      clearInterval(pulse);
    }
  }

  #settle(lent, outcome, reason = "") {
    const settlements = [{ lock_token: lent.lock_token, outcome, reason }];
    return persistently(`${this.url}/v1/directives:settle`, { settlements }, this.key);
  }
}

function failed(error, signal) {
  if (signal.aborted) error = new Failure("CANCELLED", "The job was cancelled, so the work was stopped.");
  const final = error instanceof Failure && error.final;
  const code = typeof error.code === "string" ? error.code : "UNEXPECTED";
  return { status: final ? "FAILED_FINAL" : "FAILED_RETRY", error: { code, message: error.message } };
}

function isDirective(value) {
  const isObject = (one) => typeof one === "object" && one !== null && !Array.isArray(one);
  if (!isObject(value)) return false;
  const texts = ["jobId", "stepId", "tenant_id", "lease_id", "step_type", "callback_token"];
  const objects = ["payload", "callback_urls", "input_ref", "workspace_ref"];
  return (
    texts.every((name) => typeof value[name] === "string" && value[name] !== "") &&
    objects.every((name) => isObject(value[name])) &&
    Number.isInteger(value.attempt_no)
  );
}

/** A third of the lease: one heartbeat may be lost without harm. */
function rhythm(directive) {
  const lease = Date.parse(directive.lease_expires_at) - Date.now();
  return Number.isFinite(lease) ? Math.min(Math.max(lease / 3, 50), 60_000) : 60_000;
}

function naming(directive) {
  const ids = Object.fromEntries(IDS.map((name) => [name, directive[name]]));
  return { ...ids, timestamp: new Date().toISOString() };
}

function reply(directive, kind, more = {}) {
  return persistently(directive.callback_urls[kind], { ...naming(directive), ...more }, directive.callback_token);
}

/** Send the same again as long as it is answered 5xx or not at all. */
async function persistently(url, body, token) {
  for (let wait = 100; ; wait = Math.min(wait * 2, 10_000)) {
    try {
      return await post(url, body, token);
    } catch (error) {
      if (error.status < 500) throw error;
      await pause(Math.max(wait, error.retryAfterMs ?? 0));
    }
  }
}

async function post(url, body, token, signal) {
  const headers = { "Content-Type": "application/json", ...(token && { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal });
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  const retryAfterMs = Number(answer.headers.get("retry-after") ?? 0) * 1000;
  throw Object.assign(new Error(`${url}: ${answer.status} ${text}`), { status: answer.status, retryAfterMs });
}

function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

module.exports = { Failure, Runner, pause };
