import { drawCurve } from "./curve.js";
import { describe, showPair } from "./pair.js";

const find = (id) => document.getElementById(id);
const KEYS = { s: "same", d: "different", u: "unsure" };
let pair = null;
let busy = false;

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

function say(text) {
  find("message").textContent = text;
}

async function ask(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", ...options });
  if (response.status === 401) {
    signIn();
    const error = new Error("A token is needed.");
    error.status = 401;
    throw error;
  }
  if (response.status === 204) return null;
  const answer = await response.json();
  if (!response.ok) {
    const error = new Error(typeof answer.detail === "string" ? answer.detail : "It was refused.");
    error.status = response.status;
    throw error;
  }
  return answer;
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
  pair = await ask(`next?tab=${encodeURIComponent(tab)}`);
  find("answers").hidden = false;
  find("pair").hidden = pair.left === undefined;
  if (pair.left !== undefined) {
    showPair(pair, find("left"), find("right"));
    find("announcement").textContent = describe(pair);
    return;
  }
  say(
    pair.done
      ? "All pairs were judged."
      : "All other pairs wait for an answer, in another tab or by another annotator.",
  );
  pair = null;
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
  const alarms = progress.audit ? progress.audit.drift.alarms : [];
  find("drift").textContent = alarms.length ? alarms[alarms.length - 1].message : "";
  find("notices").replaceChildren(
    ...progress.notices.map((notice) => {
      const line = document.createElement("li");
      line.textContent = notice;
      return line;
    }),
  );
  if (progress.annotators > 1) {
    const agreed = await ask("agreement");
    find("agreement").textContent = agreed.n_pairs
      ? `Annotators agree on ${agreed.n_agreed} of ${agreed.n_pairs} pairs that several judged.`
      : "No pair was judged by several annotators yet.";
  }
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
    say(error.message);
  } finally {
    busy = false;
    find("pair").setAttribute("aria-busy", "false");
  }
}

// Beside the judging: a key pressed meanwhile counts.
function refresh() {
  showProgress().catch((error) => say(error.message));
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// A judgement is sent with the same id until it is on disk: it is never counted twice.
async function judge(answer) {
  if (pair === null) return;
  const judgement = { id: newId(), left: pair.left.id, right: pair.right.id, answer };
  let said = `You answered: ${answer}.`;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await send("judgements", judgement);
      made.push(judgement.id);
      break;
    } catch (error) {
      if (error.status === 409) {
        said = `“${answer}” was not stored: you had judged this pair elsewhere.`;
        break;
      }
      const lasting = error.status !== undefined && error.status !== 503 && error.status !== 507;
      if (lasting || attempt === 5) throw error;
      say("The judgement is not stored yet; trying again.");
      await pause(300 * 2 ** attempt);
    }
  }
  allowUndo();
  say(said);
  await showNext();
  refresh();
}

async function undo() {
  const id = made.pop() ?? (await ask("progress")).latest;
  if (id === null) return;
  try {
    await send(`judgements/${id}?tab=${encodeURIComponent(tab)}`, undefined, "DELETE");
  } catch (error) {
    if (error.status === undefined || error.status >= 500 || error.status === 401) made.push(id);
    throw error;
  }
  allowUndo();
  say("The last answer was undone: judge the pair again.");
  await showNext();
  refresh();
}

async function begin() {
  find("sign-in").hidden = true;
  await showNext();
  refresh();
}

// The link that `likewise label` opens has the token behind #, which no server sees.
const token = new URLSearchParams(location.hash.slice(1)).get("token");
history.replaceState(null, "", location.pathname);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  const key = event.key.toLowerCase();
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
    await send("session", { token: find("token").value });
    find("token").value = "";
    await begin();
  });
});
setInterval(() => {
  if (find("progress").hidden) return;
  refresh();
  if (pair === null) work(showNext); // others may have answered, or let a pair go
}, 5000);

work(async () => {
  if (token) await send("session", { token });
  await begin();
});
