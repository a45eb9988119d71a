import { element, number, plural, request, webAddress } from "./api.js";

const REFRESH = 5_000;
const KEPT = 20;

const $ = (id) => document.getElementById(id);
const made = [];

export function startLinks() {
  $("link-form").addEventListener("submit", create);
  $("copy").addEventListener("click", copy);
  setTimeout(refresh, REFRESH);
}

export function setWritable(writable) {
  $("link-form").hidden = !writable;
  $("read-only").hidden = writable;
  $("share").hidden = !writable;
  $("made-here").hidden = !writable && !made.length;
}

export async function sharePlace(id) {
  await make($("share"), `/v1/places/${encodeURIComponent(id)}/link`, {});
}

async function create(event) {
  event.preventDefault();
  const body = { target: $("target").value.trim() };
  const phrase = $("phrase").value.trim();
  if (phrase) body.phrase = phrase;
  if (await make($("create"), "/v1/links", body)) $("link-form").reset();
}

async function make(button, path, body) {
  showProblem("");
  button.disabled = true;
  try {
    const link = await request(path, { method: "POST", body });
    remember(link);
    celebrate(link);
    return true;
  } catch (error) {
    showProblem("status" in error ? error.message : "The server could not be reached; nothing is known to have been made.");
    return false;
  } finally {
    button.disabled = false;
  }
}

function showProblem(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function celebrate(link) {
  const href = webAddress(link.url) ?? "";
  const cut = href.lastIndexOf("/") + 1;
  $("new-link").href = $("open").href = href;
  $("new-origin").textContent = href.slice(0, cut);
  $("new-phrase").textContent = decoded(href.slice(cut)) || link.phrase;
  $("new-target").textContent = `leads to ${link.target}`;
  $("copy").textContent = "Copy";
  $("made").hidden = false;
  $("made").scrollIntoView({ block: "nearest" });
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function copy() {
  const text = $("new-link").href;
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copied = copyBySelection(text);
  }
  $("copy").textContent = copied ? "Copied" : "Press Ctrl+C";
  if (copied) setTimeout(() => { $("copy").textContent = "Copy"; }, 2_000);
}

// why: the clipboard API is missing where the page is not served from a secure origin
function copyBySelection(text) {
  const field = element("textarea");
  field.value = text;
  field.className = "quiet-text";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (copied) $("copy").focus();
  else getSelection().selectAllChildren($("new-link"));
  return copied;
}

function remember(link) {
  // why: a place that is shared again has the link that it had
  if (made.some((entry) => entry.phrase === link.phrase)) return;
  const row = element("li");
  const anchor = element("a", "", link.phrase);
  anchor.href = webAddress(link.url) ?? "";
  anchor.target = "_blank";
  anchor.rel = "noopener";
  const visits = element("span", "visits", plural(link.visits ?? 0, "visit"));
  row.append(anchor, visits, element("span", "ellipsis", link.target));
  $("links").prepend(row);
  made.unshift({ phrase: link.phrase, row, visits });
  // why: each listed link costs a request every five seconds
  for (const old of made.splice(KEPT)) old.row.remove();
  $("no-links").hidden = true;
}

async function refresh() {
  if (document.visibilityState === "visible") await Promise.all(made.map(refreshOne));
  setTimeout(refresh, REFRESH);
}

async function refreshOne(entry) {
  try {
    const link = await request(`/v1/links/${encodeURIComponent(entry.phrase)}`);
    entry.visits.textContent = link.disabled ? `${number(link.visits)}, disabled` : plural(link.visits, "visit");
  } catch (error) {
    // why: a lost connection is told once, by the status; only a link that is gone is told here
    if (error.status === 404 || error.status === 410) entry.visits.textContent = "gone";
  }
}
