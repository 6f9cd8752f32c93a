// The page's line to the table: state comes in (a stream; polling where there is none), commands go out once each.
//
// Every sign of life is noted. A phone that slept or lost its network asks again at once when it is back, and as long
// as nothing was heard the page says so.

import { _, sentence } from "./texts.js";

const STALE = 20_000; // ms without a sign of life after which the page says that it is alone
const BROKEN = 3_000; // … when the line is known to be broken
const MUTE = 5_000; // … after which a stream that never began is given up
const POLL = 3_000;

export const table = { state: null, offset: 0, busy: 0, alone: false };
const listeners = new Set();
const aloneListeners = new Set();
let heard = performance.now();
let brokenSince = null;
let source = null;
let polling = 0;
let retry = 500;
let timer = null;

/** Call `listener(state)` now (if there is one) and at each new state. */
export function onState(listener) {
  listeners.add(listener);
  if (table.state) listener(table.state);
}

/** Call `listener(alone, seconds)` when the table stops or starts to answer. */
export function onAlone(listener) {
  aloneListeners.add(listener);
}

function alive() {
  heard = performance.now();
  brokenSince = null;
  retry = 500;
  look();
}

function take(data) {
  alive();
  const before = table.state;
  if (before && data.version < before.version) return;
  table.state = { ...before, ...data };
  table.offset = data.now - performance.now() / 1000;
  for (const listener of listeners) listener(table.state);
}

/** Seconds until the table's clock shows `deadline`. */
export const secondsTo = (deadline) => deadline - table.offset - performance.now() / 1000;

// -- listening -------------------------------------------------------------------------------------------------

function open() {
  shut();
  if (!("EventSource" in window)) return poll();
  const own = new EventSource("/api/events");
  source = own;
  // A table that hangs takes the connection and never speaks: no event tells of that.
  timer = setTimeout(() => own === source && failed(), MUTE);
  own.addEventListener("state", (event) => {
    if (own !== source) return;
    clearTimeout(timer);
    take(JSON.parse(event.data));
  });
  own.addEventListener("ping", (event) => {
    if (own !== source) return;
    alive();
    if (JSON.parse(event.data).version !== table.state?.version) ask();
  });
  own.addEventListener("error", () => own === source && failed());
}

function failed() {
  shut();
  brokenSince ??= performance.now();
  const round = polling;
  ask("", 2500).then((ok) => {
    if (round !== polling) return;
    if (ok) poll();
    else again();
  });
}

function shut() {
  source?.close();
  source = null;
  polling += 1;
  clearTimeout(timer);
}

function again() {
  clearTimeout(timer);
  timer = setTimeout(open, retry);
  retry = Math.min(retry * 1.6, 4000);
}

/** The table answers but the stream does not: ask now and then, and try the stream again after some rounds. */
async function poll(round = 0) {
  const own = ++polling;
  while (own === polling) {
    const waiting = "EventSource" in window ? "" : `?since=${table.state?.version ?? 0}&wait=15`;
    if (!(await ask(waiting, 20_000)) || own !== polling) break;
    if (++round >= 3 && "EventSource" in window) return open();
    await new Promise((done) => setTimeout(done, waiting ? 50 : round === 1 ? 300 : POLL));
  }
  if (own === polling) again();
}

/** Ask for the state once; true when the table answered. */
export async function ask(query = "", timeout = 4000) {
  const stop = new AbortController();
  const limit = setTimeout(() => stop.abort(), timeout);
  try {
    const answer = await fetch(`/api/state${query}`, { signal: stop.signal, cache: "no-store" });
    if (answer.status === 503 && query) return await ask();
    if (!answer.ok) return false;
    take(await answer.json());
    return true;
  } catch {
    brokenSince ??= performance.now();
    return false;
  } finally {
    clearTimeout(limit);
  }
}

function look() {
  const now = performance.now();
  const alone = now - heard > STALE || (brokenSince !== null && now - brokenSince > BROKEN);
  if (alone || alone !== table.alone) {
    table.alone = alone;
    for (const listener of aloneListeners) listener(alone, Math.round((now - heard) / 1000));
  }
}

/** Back from sleep or from nowhere: what is shown may be old, and the socket dead without knowing it. */
function awake() {
  if (document.visibilityState === "hidden") return;
  retry = 500;
  ask("", 2500);
  open();
}

export function begin() {
  open();
  setInterval(() => {
    look();
    if (performance.now() - heard > STALE && source) open();
  }, 1000);
  document.addEventListener("visibilitychange", awake);
  window.addEventListener("online", awake);
  window.addEventListener("pageshow", (event) => event.persisted && awake());
  window.addEventListener("pagehide", shut);
}

// -- acting ----------------------------------------------------------------------------------------------------

/** A new id; crypto.randomUUID exists on https pages only, and a table in the living room is http. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const RESEND = [300, 700, 1500, 3000, 5000];

/** Have one command done. Sent again with the same id while the network fails; throws Error(sentence) when refused. */
export async function send(kind, values = {}) {
  const body = JSON.stringify({ id: newId(), kind, ...values });
  return working(async () => {
    const answer = await post("/api/commands", { body, headers: { "Content-Type": "application/json" } });
    if (answer.version > (table.state?.version ?? 0)) setTimeout(catchUp, 250, answer.version);
    return answer;
  });
}

function catchUp(version) {
  if ((table.state?.version ?? 0) < version) ask();
}

/** Send a form (a photo); not sent again by itself. */
export async function upload(path, form) {
  return working(() => post(path, { body: form }, []));
}

async function post(path, request, pauses = RESEND) {
  for (let n = 0; ; n += 1) {
    const limit = new AbortController();
    const timeout = setTimeout(() => limit.abort(), pauses.length ? 8000 : 60_000);
    try {
      const answer = await fetch(path, { method: "POST", ...request, signal: limit.signal });
      const said = await answer.json().catch(() => ({}));
      alive();
      if (answer.ok) return said;
      if (answer.status === 503 && said.code === "busy" && n < pauses.length) throw new TypeError("busy");
      throw Object.assign(new Error(sentence(said) || _("The table refused, and did not say why.")), { code: said.code });
    } catch (error) {
      if (!(error instanceof TypeError || error.name === "AbortError")) throw error;
      brokenSince ??= performance.now();
      if (n >= pauses.length) throw new Error(_("The table cannot be reached. Try again when it is back."));
      await sleep(pauses[n]);
    } finally {
      clearTimeout(timeout);
    }
  }
}

async function working(work) {
  table.busy += 1;
  markBusy();
  try {
    return await work();
  } finally {
    table.busy -= 1;
    markBusy();
  }
}

/** While a command is on its way, whatever gives commands is out of use. */
export function markBusy() {
  document.body.classList.toggle("busy", table.busy > 0);
  for (const button of document.querySelectorAll("[data-command]")) {
    if (table.busy && !button.disabled) button.disabled = button.dataset.waits = true;
    else if (!table.busy && button.dataset.waits) {
      button.disabled = false;
      delete button.dataset.waits;
    }
  }
}
