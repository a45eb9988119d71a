import { number, plural, request } from "./api.js";

const FAST = 2_000;
const SLOW = 10_000;

const $ = (id) => document.getElementById(id);
let note = { text: "", trouble: false };
let lost = false;
let phase = "";

export function watchStatus(onStatus) {
  async function poll() {
    let pause = FAST;
    try {
      const status = await request("/-/status");
      lost = false;
      show(status);
      pause = settled(status) ? SLOW : FAST;
      onStatus(status);
    } catch (error) {
      console.warn("status:", error.message);
      lost = true;
      onStatus(null);
    }
    drawNote();
    setTimeout(poll, pause);
  }
  poll();
}

export function setNote(text, trouble = false) {
  note = { text, trouble };
  drawNote();
}

function drawNote() {
  const text = lost ? "connection lost, retrying" : note.text;
  if ($("note").textContent !== text) $("note").textContent = text;
  $("status").classList.toggle("trouble", !lost && note.trouble);
  if (lost) announce("connection lost, retrying");
}

const settled = (status) => Boolean(status.generation) && !["waiting", "running"].includes(status.import?.status);

function show(status) {
  $("sentence").textContent = sentence(status);
  const run = status.import;
  const running = run?.status === "running" && run.shards_total > 0;
  $("progress").hidden = !running;
  if (running) {
    $("progress").max = run.shards_total;
    $("progress").value = run.shards_done;
  }
  // why: read out the turns of an import, not each of its many steps
  announce(run?.status === "running" ? "importing" : sentence(status));
  showAttribution(status.attribution ?? []);
}

function sentence({ import: run, places, generation }) {
  if (run?.status === "running") {
    return `importing: ${number(run.shards_done)} of ${plural(run.shards_total, "shard")}, ${plural(run.places ?? 0, "place")}`;
  }
  if (run?.status === "waiting") return "the import is about to begin";
  const count = plural(places ?? 0, "place");
  if (run?.status === "failed") return `the import failed${run.error ? `: ${run.error}` : ""}; ${count} kept`;
  if (run?.status === "done") return `import done: ${count}`;
  return generation ? count : "no import yet";
}

function announce(text) {
  if (text === phase) return;
  phase = text;
  $("announce").textContent = text;
}

function showAttribution(lines) {
  const shown = [...$("attribution").children].map((p) => p.textContent);
  if (shown.join("\n") === lines.join("\n")) return;
  $("attribution").replaceChildren(...lines.map((line) => {
    const p = document.createElement("p");
    p.textContent = line;
    return p;
  }));
}
