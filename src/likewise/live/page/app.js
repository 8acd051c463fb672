import { drawCurve } from "./curve.js";
import { describe, showPair } from "./pair.js";

const find = (id) => document.getElementById(id);
const KEYS = { s: "same", d: "different", u: "unsure" };
const MAX_PAUSE = 5000; // milliseconds between two attempts to send an answer
let pair = null;
let busy = false;
let reachable = true;
let unsent = null; // an answer that was sent and is not known to be stored

// A UUID; crypto.randomUUID is missing where the page is not loaded over https or from this machine.
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// Taken out while the page is open: a reload finds what the page left behind and shows the same
// pair again, but a duplicated tab, which gets a copy of the storage, becomes a tab of its own.
function takeStored(name) {
  const found = sessionStorage.getItem(name);
  sessionStorage.removeItem(name);
  return found;
}
const tab = takeStored("tab") || newId();
const made = JSON.parse(takeStored("made") || "[]"); // ids of judgements, for undo
addEventListener("pagehide", () => {
  sessionStorage.setItem("tab", tab);
  sessionStorage.setItem("made", JSON.stringify(made.slice(-1000)));
});
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload(); // from the cache of the browser: the pair may be answered
});
let latest = null; // the last judgement in force, of any tab

function say(text, line = "message") {
  // The same text again would be read aloud again.
  if (find(line).textContent !== text) find(line).textContent = text;
}

class Unreachable extends Error {} // no answer came, or none of the service

function sayConnection() {
  const lost = reachable ? [] : ["The service cannot be reached; trying again."];
  if (unsent !== null) {
    lost.push(
      reachable
        ? `“${unsent}” is not stored yet: it is sent again until it is.`
        : `It is not known whether “${unsent}” is stored: it is sent again, and counts once.`,
    );
  }
  say(lost.join(" "), "connection");
}

function setReachable(now) {
  reachable = now;
  sayConnection();
}

function problemOf(path, status, answer) {
  if (status === 401 && path !== "session") return "A token is needed.";
  const detail = typeof answer?.detail === "string" ? answer.detail : "it was refused.";
  return detail.charAt(0).toUpperCase() + detail.slice(1);
}

async function ask(path, options = {}) {
  let response, answer;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
    answer = response.status === 204 ? null : await response.json();
  } catch {
    // Also what is not JSON: a proxy answers so while the service is away.
    setReachable(false);
    throw new Unreachable();
  }
  setReachable(true);
  if (response.ok) return answer;
  if (response.status === 401) signIn();
  const error = new Error(problemOf(path, response.status, answer));
  error.status = response.status;
  throw error;
}

function send(path, content, method = "POST") {
  const body = content === undefined ? undefined : JSON.stringify(content);
  return ask(path, { method, body, headers: { "content-type": "application/json" } });
}

function signIn() {
  find("sign-in").hidden = false;
  for (const id of ["pair", "answers", "progress"]) find(id).hidden = true;
  find("token").focus();
}

async function showNext() {
  const next = await ask(`next?tab=${encodeURIComponent(tab)}`);
  pair = next.left === undefined ? null : next;
  find("answers").hidden = false;
  find("pair").hidden = pair === null;
  for (const button of document.querySelectorAll("[data-answer]")) button.disabled = pair === null;
  if (pair !== null) {
    showPair(pair, { left: find("left"), right: find("right"), rows: find("rows") });
    say(describe(pair), "announcement");
    return;
  }
  say(
    next.done
      ? "All pairs were judged."
      : "All other pairs wait for an answer, in another tab or by another annotator.",
  );
}

function listItem(text) {
  const line = document.createElement("li");
  line.dir = "auto";
  line.textContent = text;
  return line;
}

async function showProgress() {
  const progress = await ask("progress");
  find("progress").hidden = false;
  const all = progress.annotators > 1 ? ` (${progress.judgements} by all)` : "";
  find("count").textContent = `${progress.own_judgements} judged${all}`;
  latest = progress.latest;
  allowUndo();
  find("stop").textContent = progress.stop.message;
  find("figure").hidden = progress.curve.length < 2;
  if (progress.curve.length >= 2) drawCurve(find("curve"), find("curve-text"), progress.curve);
  find("promise").textContent = progress.audit ? progress.audit.promise : "";
  find("rates").textContent = progress.audit ? ratesOf(progress.audit) : "";
  const alarms = progress.audit ? progress.audit.drift.alarms : [];
  find("drift").textContent = alarms.length ? alarms[alarms.length - 1].message : "";
  find("notices").replaceChildren(...progress.notices.map(listItem));
  if (progress.annotators > 1) showAgreement(await ask("agreement"));
}

const percent = (rate) => `${(100 * rate).toFixed(1)} %`;

function ratesOf(audit) {
  const known = typeof audit.fmr === "number" && typeof audit.fnmr === "number";
  const rates = known
    ? `FMR ${percent(audit.fmr)}, FNMR ${percent(audit.fnmr)} on the audit pairs. `
    : "";
  if (!known && !/FN?MR/.test(audit.promise)) return "";
  return (
    `${rates}FMR is the share of different pairs that are taken for the same, ` +
    "FNMR the share of same pairs that are missed."
  );
}

function showAgreement(agreed) {
  find("agreement").textContent = agreed.n_pairs
    ? `Annotators agree on ${agreed.n_agreed} of ${agreed.n_pairs} pairs that several judged.`
    : "No pair was judged by several annotators yet.";
  const number = agreed.n_conflicts;
  find("conflicts").hidden = number === 0;
  find("conflicts-title").textContent = number === 1 ? "1 conflict" : `${number} conflicts`;
  const lines = agreed.conflicts.map((conflict) => {
    const answers = Object.entries(conflict.answers).map(([name, answer]) => `${name}: ${answer}`);
    return listItem(`“${conflict.left}” and “${conflict.right}” – ${answers.join(", ")}`);
  });
  if (number > lines.length) lines.push(listItem(`${number - lines.length} more are not listed here.`));
  find("conflict-list").replaceChildren(...lines);
}

function allowUndo() {
  find("undo").disabled = made.length === 0 && latest === null;
}

async function work(task) {
  if (busy) return;
  busy = true;
  find("pair").setAttribute("aria-busy", "true");
  try {
    await task();
  } catch (error) {
    if (!(error instanceof Unreachable)) say(error.message);
  } finally {
    busy = false;
    find("pair").setAttribute("aria-busy", "false");
  }
}

// Beside the judging: a key pressed meanwhile counts.
function refresh() {
  showProgress().catch((error) => {
    if (!(error instanceof Unreachable)) say(error.message);
  });
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// A judgement is sent with the same id until it is on disk: it is never counted twice.
async function store(judgement) {
  try {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await send("judgements", judgement);
        return;
      } catch (error) {
        if (!(error instanceof Unreachable || error.status === 503 || error.status === 507)) throw error;
        unsent = judgement.answer;
        sayConnection();
        await pause(Math.min(300 * 2 ** attempt, MAX_PAUSE));
      }
    }
  } finally {
    unsent = null;
    sayConnection();
  }
}

async function judge(answer) {
  if (pair === null) return;
  const judgement = { id: newId(), left: pair.left.id, right: pair.right.id, answer };
  let said = `You answered: ${answer}.`;
  try {
    await store(judgement);
    made.push(judgement.id);
  } catch (error) {
    if (error.status !== 409 && error.status !== 403) {
      error.message = `“${answer}” was not stored. ${error.message}`;
      throw error;
    }
    said = error.status === 403
      ? `“${answer}” was not stored: this pair is not asked about any more.`
      : `“${answer}” was not stored: you had judged this pair elsewhere.`;
  }
  pair = null; // answered, also where the next one cannot be asked for now
  allowUndo();
  say(said);
  await showNext();
  refresh();
}

// What was answered here, the last first; after that, the last answer given anywhere.
async function undo() {
  const own = made.pop();
  const id = own ?? (await ask("progress")).latest;
  if (id === null) return say("There is no answer to undo.");
  let undone;
  try {
    undone = await send(`judgements/${id}?tab=${encodeURIComponent(tab)}`, undefined, "DELETE");
  } catch (error) {
    const unknown = error instanceof Unreachable;
    if (own !== undefined && (unknown || error.status >= 500 || error.status === 401)) made.push(own);
    if (unknown) say("It is not known whether the last answer was undone: try again.");
    throw error;
  }
  allowUndo();
  if (undone.created === false) {
    say("That answer was undone before, elsewhere: nothing was changed.");
  } else if (own === undefined) {
    say("Your last answer, which was not given in this tab, was undone: judge the pair again.");
  } else {
    say("The last answer was undone: judge the pair again.");
  }
  await showNext();
  refresh();
}

async function begin() {
  find("sign-in").hidden = true;
  say("");
  await showNext();
  refresh();
}

// The link that `likewise label` opens has the token behind #, which no server sees.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  const key = event.key.toLowerCase();
  if (event.repeat) {
    // A key that is held is one answer: Enter on a button would click again and again.
    if (KEYS[key] || key === "z" || event.target.closest("button")) event.preventDefault();
    return;
  }
  if (KEYS[key]) work(() => judge(KEYS[key]));
  else if (key === "z") work(undo);
  else return;
  event.preventDefault();
});
find("answers").addEventListener("click", (event) => {
  const answer = event.target.closest("button")?.dataset.answer;
  if (answer) work(() => judge(answer));
});
find("undo").addEventListener("click", () => work(undo));
find("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  work(async () => {
    await send("session", { token: find("token").value.trim() });
    find("token").value = "";
    await begin();
  });
});
setInterval(() => {
  if (!find("sign-in").hidden) return;
  refresh();
  if (pair !== null) return;
  work(async () => {
    await showNext(); // others may have answered, or let a pair go
    if (pair !== null) say("");
  });
}, 5000);

work(async () => {
  if (token) await send("session", { token });
  await begin();
});
