import { element, number, request } from "./api.js";
import { hideCard, showCard } from "./card.js";
import { setWritable, sharePlace, startLinks } from "./links.js";
import { PlaceMap } from "./map.js";
import { latAt } from "./mercator.js";
import { STATUSES } from "./paint.js";
import { setNote, watchStatus } from "./status.js";

const WORLD = [-180, -90, 180, 90];
const LIMIT = 10_000;
const SETTLE = 250;
const EARTH = 40_075_016.686;

const $ = (id) => document.getElementById(id);
const loaded = { box: null, complete: false, generation: null };
let wanted = WORLD;
let latest = null;
let underway = null;
let settling = 0;
let shown = null;

const counters = buildLegend();
const map = new PlaceMap($("map"), { onMove: settle, onPick: pick, onDraw: drawn, covered });

function buildLegend() {
  return Object.fromEntries(STATUSES.map((status) => {
    const row = element("li");
    const count = element("span", "count", "0");
    row.append(element("i", `dot ${status}`), element("span", "", status), count);
    $("legend-list").append(row);
    return [status, count];
  }));
}

function drawn(counts, total, view) {
  for (const status of STATUSES) counters[status].textContent = number(counts[status]);
  $("in-view").textContent = number(total);
  $("map").setAttribute("aria-label", `Map of places, ${number(total)} in view`);
  drawScale(view);
}

function covered() {
  const frame = $("map").getBoundingClientRect();
  const legend = $("legend").getBoundingClientRect();
  const room = frame.width < 600 ? 14 : 28;
  const top = $("status").getBoundingClientRect().bottom - frame.top + room;
  const beside = { left: legend.right - frame.left + room, right: room, top, bottom: frame.bottom - legend.bottom + room };
  const below = { left: legend.left - frame.left + room, right: room, top, bottom: frame.bottom - legend.top + room };
  return [beside, below];
}

function drawScale(view) {
  const metres = EARTH * Math.cos(latAt(view.y) * Math.PI / 180) / view.scale;
  const most = metres * Math.min(110, $("map").clientWidth / 6);
  const power = 10 ** Math.floor(Math.log10(most));
  const round = power * [5, 2, 1].find((n) => n * power <= most);
  $("scale-bar").style.width = `${round / metres}px`;
  $("scale-text").textContent = round >= 1000 ? `${number(round / 1000)} km` : `${number(round)} m`;
}

function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    const box = map.box();
    if (!loaded.box || (loaded.complete && covers(loaded.box, box))) return;
    wanted = box;
    load();
  }, SETTLE);
}

const covers = (outer, inner) => outer[0] <= inner[0] && outer[1] <= inner[1] && outer[2] >= inner[2] && outer[3] >= inner[3];

async function load() {
  underway?.abort();
  const mine = underway = new AbortController();
  const box = wanted;
  const generation = latest?.generation ?? null;
  try {
    const query = box.map((degrees) => +degrees.toFixed(6)).join(",");
    const answer = await request(`/v1/places?bbox=${query}&limit=${LIMIT}`, { signal: mine.signal });
    if (underway === mine) arrived(answer, box, generation);
  } catch (error) {
    if (underway === mine) failed(error);
  } finally {
    if (underway === mine) underway = null;
  }
}

function arrived({ features = [], numberMatched, numberReturned }, box, generation) {
  const returned = numberReturned ?? features.length;
  const matched = numberMatched ?? returned;
  Object.assign(loaded, { box, complete: matched <= returned, generation });
  map.show(features, { generation, matched, whole: box === WORLD });
  setNote(loaded.complete ? "" : `showing ${number(returned)} of ${number(matched)}; zoom in for more`);
  // why: the first of many places may lie outside what the person is looking at
  if (box === WORLD && !loaded.complete && map.touched) settle();
}

function failed(error) {
  loaded.generation = null;
  if (error.status === 503) setNote("waiting for the first snapshot");
  else if (error.status) setNote(error.message, true);
  else setNote("connection lost, retrying");
}

function heard(status) {
  // why: without a status there is no generation to compare, but places may still be there
  if (!status) {
    if (!loaded.box && !underway) load();
    return;
  }
  latest = status;
  setWritable(status.writable !== false);
  if (!status.generation) {
    if (!loaded.box) setNote("waiting for the first snapshot");
    return;
  }
  // why: a load under way is let finish, or quick generations would starve it; the next poll sees the difference
  if (status.generation !== loaded.generation && !underway) load();
}

function pick(feature, others) {
  shown = feature;
  if (!feature) {
    hideCard();
    return;
  }
  showCard(feature, others);
  if ($("map").matches(":focus-visible")) $("place-card").focus();
  uncover();
}

// why: on a small screen the card would hide the very dot it tells about
function uncover() {
  const card = $("place-card").getBoundingClientRect();
  const frame = $("map").getBoundingClientRect();
  const [x, y] = map.screen(map.selected);
  const inside = x > card.left - frame.left - 20 && x < card.right - frame.left + 20
    && y > card.top - frame.top - 20 && y < card.bottom - frame.top + 20;
  if (!inside) return;
  const below = card.width > frame.width * 0.8;
  map.pan(below ? 0 : card.right - frame.left + 60 - x, below ? Math.max(60, (card.top - frame.top) / 2) - y : 0);
}

function closeCard() {
  map.select(null);
  $("map").focus();
}

$("zoom-in").addEventListener("click", () => map.zoomSmoothly(2));
$("zoom-out").addEventListener("click", () => map.zoomSmoothly(0.5));
$("fit").addEventListener("click", () => map.fit());
$("card-close").addEventListener("click", closeCard);
$("place-card").addEventListener("keydown", (e) => { if (e.key === "Escape") closeCard(); });
$("share").addEventListener("click", () => sharePlace(shown.id));

startLinks();
watchStatus(heard);
