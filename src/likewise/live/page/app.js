import { drawCurve } from "./curve.js";
import { showPair } from "./pair.js";

const find = (id) => document.getElementById(id);
const KEYS = { s: "same", d: "different", u: "unsure" };
let pair = null;
let busy = false;
let waiting = null; // the judgement that is being sent, with its id, until it is on disk

// A reload shows the same pair again; another tab gets another one.
const tab = sessionStorage.getItem("tab") || crypto.randomUUID();
sessionStorage.setItem("tab", tab);
const made = JSON.parse(sessionStorage.getItem("made") || "[]"); // ids, for undo

function say(text) {
  find("message").textContent = text;
}

async function ask(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", ...options });
  if (response.status === 401) {
    signIn();
    throw new Error("A token is needed.");
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
  if (pair.done) {
    pair = null;
    find("pair").hidden = true;
    say("All pairs were judged.");
    return;
  }
  showPair(pair, find("left"), find("right"));
  find("pair").hidden = false;
  find("answers").hidden = false;
}

async function showProgress() {
  const progress = await ask("progress");
  find("progress").hidden = false;
  const all = progress.annotators > 1 ? ` (${progress.judgements} by all)` : "";
  find("count").textContent = `${progress.own_judgements} judged${all}`;
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

function remember() {
  sessionStorage.setItem("made", JSON.stringify(made.slice(-1000)));
  find("undo").disabled = made.length === 0;
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
  waiting = { id: crypto.randomUUID(), left: pair.left.id, right: pair.right.id, answer };
  for (let attempt = 0; ; attempt += 1) {
    try {
      await send("judgements", waiting);
      break;
    } catch (error) {
      if (error.status === 409) break; // judged in another tab
      const lasting = error.status !== undefined && error.status !== 503 && error.status !== 507;
      if (lasting || attempt === 5) throw error;
      say("The judgement is not stored yet; trying again.");
      await pause(300 * 2 ** attempt);
    }
  }
  made.push(waiting.id);
  remember();
  say(`You answered: ${answer}.`);
  await showNext();
  refresh();
}

async function undo() {
  if (made.length === 0) return;
  await send(`judgements/${made[made.length - 1]}`, undefined, "DELETE");
  made.pop();
  remember();
  say("The last answer was undone.");
  refresh();
}

async function begin() {
  find("sign-in").hidden = true;
  remember();
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
setInterval(() => find("progress").hidden || refresh(), 5000);

work(async () => {
  if (token) await send("session", { token });
  await begin();
});
