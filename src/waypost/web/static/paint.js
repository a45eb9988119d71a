import { clamp, latAt, lonAt, mercX, mercY } from "./mercator.js";

export const FRAME = 24;
export const STATUSES = ["operational", "limited", "planned", "closed", "unknown"];

const STEPS = [45, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
const LABELLED = 60;
const CLEAR = 3.2;

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["paper", "land", "panel", "ink", "soft", "line", "grid", "accent", "serif", "sans", ...STATUSES];
  return { ...Object.fromEntries(names.map((name) => [name, read(name)])), dark: matchMedia("(prefers-color-scheme: dark)").matches };
}

export function paint(map) {
  const { context: c, ratio, width, height, theme } = map;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.fillStyle = theme.paper;
  c.fillRect(0, 0, width, height);
  paintWorld(map);
  const lines = graticule(map);
  paintGraticule(map, lines);
  const { counts, visible, radius } = paintDots(map);
  if (visible.length <= LABELLED && radius >= 3) paintNames(map, visible, radius);
  paintMarked(map, radius);
  paintFrame(map, lines);
  if (map.canvas.matches(":focus-visible")) paintCross(map);
  return counts;
}

function paintWorld(map) {
  const [left, top] = map.screen({ x: 0, y: 0 });
  map.context.fillStyle = map.theme.land;
  map.context.fillRect(left, top, map.view.scale, map.view.scale);
}

function graticule(map) {
  const { view, width, height } = map;
  const step = STEPS.findLast((s) => s / 360 * view.scale >= 70) ?? STEPS[0];
  const west = Math.max(-180, lonAt(view.x - width / 2 / view.scale));
  const east = Math.min(180, lonAt(view.x + width / 2 / view.scale));
  const north = latAt(Math.max(0, view.y - height / 2 / view.scale));
  const south = latAt(Math.min(1, view.y + height / 2 / view.scale));
  const multiples = (low, high) => Array.from(
    { length: Math.max(0, Math.floor(high / step) - Math.ceil(low / step) + 1) }, (_, i) => (Math.ceil(low / step) + i) * step);
  return {
    step,
    lons: multiples(west, east).map((lon) => ({ degrees: lon, at: map.screen({ x: mercX(lon), y: 0 })[0] })),
    lats: multiples(Math.max(south, -84), Math.min(north, 84)).map((lat) => ({ degrees: lat, at: map.screen({ x: 0, y: mercY(lat) })[1] })),
  };
}

function paintGraticule(map, { lons, lats }) {
  const { context: c, theme } = map;
  const [left, top] = map.screen({ x: 0, y: 0 });
  const [right, bottom] = map.screen({ x: 1, y: 1 });
  const crisp = (v) => Math.round(v * map.ratio) / map.ratio + 0.5 / map.ratio;
  for (const equator of [false, true]) {
    c.beginPath();
    for (const { at, degrees } of lons) if ((degrees === 0) === equator) line(c, crisp(at), Math.max(0, top), crisp(at), Math.min(map.height, bottom));
    for (const { at, degrees } of lats) if ((degrees === 0) === equator) line(c, Math.max(0, left), crisp(at), Math.min(map.width, right), crisp(at));
    c.strokeStyle = theme.grid;
    c.lineWidth = equator ? 2 : 1;
    c.stroke();
  }
}

function line(c, x1, y1, x2, y2) {
  c.moveTo(x1, y1);
  c.lineTo(x2, y2);
}

function dotLook(map) {
  const zoom = Math.log2(map.view.scale / 256);
  const sparse = clamp((6000 / Math.max(map.most, 1)) ** 0.25, 1, 2.4);
  const radius = clamp(1.25 * 2 ** ((zoom - 2) * 0.21) * sparse, 1.25, 8);
  return { radius: Math.round(radius * 8) / 8, alpha: clamp(0.3 + radius * 0.11, 0.42, 0.92) };
}

function paintDots(map) {
  const { context: c, width, height, theme } = map;
  const { radius, alpha } = dotLook(map);
  const counts = Object.fromEntries(STATUSES.map((status) => [status, 0]));
  const visible = [];
  for (const place of map.places) {
    const [x, y] = map.screen(place);
    if (x < FRAME - radius || y < FRAME - radius || x > width + radius || y > height + radius) continue;
    counts[place.status] += 1;
    visible.push({ place, x, y });
  }
  paintDiscs(c, visible, radius, alpha, theme);
  if (radius < CLEAR) paintCoat(c, visible, radius, theme);
  c.globalAlpha = 1;
  return { counts, visible, radius };
}

function paintDiscs(c, visible, radius, alpha, theme) {
  c.globalAlpha = alpha;
  c.lineWidth = 1.25;
  c.strokeStyle = theme.land;
  for (const { place, x, y } of visible) {
    disc(c, x, y, radius, theme[place.status]);
    if (radius >= CLEAR) c.stroke();
  }
}

// why: where small dots lie thick their colour is soon full; a faint second coat of ink (or light, at night) goes on showing density
function paintCoat(c, visible, radius, theme) {
  c.globalCompositeOperation = theme.dark ? "lighter" : "multiply";
  c.globalAlpha = theme.dark ? 0.035 : 0.02;
  for (const { place, x, y } of visible) {
    c.fillStyle = theme[place.status];
    // why: at this faintness a square looks like a disc and is painted in a third of the time
    c.fillRect(x - radius, y - radius, radius * 2, radius * 2);
  }
  c.globalCompositeOperation = "source-over";
}

function disc(c, x, y, radius, colour) {
  c.beginPath();
  c.arc(x, y, radius, 0, Math.PI * 2);
  c.fillStyle = colour;
  c.fill();
}

function paintNames(map, visible, radius) {
  const { context: c, theme } = map;
  c.font = `13px ${theme.serif}`;
  c.textBaseline = "middle";
  c.textAlign = "left";
  c.lineJoin = "round";
  const taken = visible.map(({ x, y }) => [x - radius, y - radius, x + radius, y + radius]);
  for (const { place, x, y } of visible) {
    if (!place.name) continue;
    const text = shortened(place.name);
    const left = x + radius + (place === map.selected ? 11 : 4);
    const box = [left, y - 8, left + c.measureText(text).width + 2, y + 8];
    if (taken.some((t) => box[0] < t[2] && box[2] > t[0] && box[1] < t[3] && box[3] > t[1])) continue;
    taken.push(box);
    c.lineWidth = 3;
    c.strokeStyle = theme.land;
    c.strokeText(text, box[0], y);
    c.fillStyle = theme.ink;
    c.fillText(text, box[0], y);
  }
}

const shortened = (name) => (name.length > 38 ? `${name.slice(0, 37).trimEnd()}…` : name);

function paintMarked(map, radius) {
  const { context: c, selected, hovered, theme } = map;
  if (selected) {
    const [x, y] = map.screen(selected);
    disc(c, x, y, Math.max(radius, 4) + 5, theme.land);
    c.lineWidth = 2.5;
    c.strokeStyle = theme.accent;
    c.stroke();
    disc(c, x, y, Math.max(radius, 4), theme[selected.status]);
  }
  if (!hovered) return;
  const [x, y] = map.screen(hovered);
  if (hovered !== selected) disc(c, x, y, Math.max(radius, 4) + 1.5, theme[hovered.status]);
  paintTip(map, shortened(hovered.name || "Unnamed place"), x, y - Math.max(radius, 4) - 10);
}

function paintTip(map, text, x, bottom) {
  const { context: c, theme } = map;
  c.font = `13px ${theme.sans}`;
  const wide = c.measureText(text).width + 18;
  const left = clamp(x - wide / 2, FRAME + 4, map.width - wide - 4);
  const top = bottom - 26 < FRAME ? bottom + 34 : bottom - 26;
  c.beginPath();
  c.roundRect(left, top, wide, 26, 6);
  c.fillStyle = theme.ink;
  c.fill();
  c.fillStyle = theme.land;
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillText(text, left + 9, top + 13.5);
}

// why: a ruled frame, as in an atlas, keeps the degrees readable where dots are dense
function paintFrame(map, { lons, lats, step }) {
  const { context: c, width, height, theme } = map;
  c.fillStyle = theme.panel;
  c.fillRect(0, 0, width, FRAME);
  c.fillRect(0, 0, FRAME, height);
  c.fillStyle = theme.soft;
  const stretchX = step / 360 * map.view.scale;
  const [worldLeft, worldTop] = map.screen({ x: 0, y: 0 });
  const [worldRight, worldBottom] = map.screen({ x: 1, y: 1 });
  const west = Math.max(FRAME, worldLeft);
  const north = Math.max(FRAME, worldTop);
  for (const { at, degrees } of withBefore(lons, step, (d) => map.screen({ x: mercX(d), y: 0 })[0])) {
    if (odd(degrees, step)) bar(c, clamp(at, west, worldRight), FRAME - 3, clamp(at + stretchX, west, worldRight), FRAME);
  }
  for (const { at, degrees } of withBefore(lats, step, (d) => map.screen({ x: 0, y: mercY(d) })[1])) {
    const upper = map.screen({ x: 0, y: mercY(degrees + step) })[1];
    if (odd(degrees, step)) bar(c, FRAME - 3, clamp(upper, north, worldBottom), FRAME, clamp(at, north, worldBottom));
  }
  c.strokeStyle = theme.soft;
  c.lineWidth = 1;
  c.strokeRect(FRAME - 3.5, FRAME - 3.5, width, height);
  c.strokeRect(FRAME - 0.5, FRAME - 0.5, width, height);
  paintDegrees(map, lons, lats, step);
}

function withBefore(lines, step, place) {
  if (!lines.length) return [];
  const before = lines[0].degrees - step;
  return [{ degrees: before, at: place(before) }, ...lines];
}

const odd = (degrees, step) => Math.abs(Math.round(degrees / step)) % 2 === 1;

const bar = (c, x1, y1, x2, y2) => c.fillRect(x1, y1, x2 - x1, y2 - y1);

function paintDegrees(map, lons, lats, step) {
  const { context: c, width, height, theme } = map;
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (degrees, plus, minus) => `${Math.abs(degrees).toFixed(places)}°${degrees > step / 2 ? plus : degrees < -step / 2 ? minus : ""}`;
  c.font = `italic 11.5px ${theme.serif}`;
  c.fillStyle = theme.soft;
  c.textAlign = "center";
  c.textBaseline = "middle";
  for (const { degrees, at } of lons) {
    if (at > FRAME + 22 && at < width - 18) c.fillText(text(degrees, " E", " W"), at, (FRAME - 3) / 2 + 0.5);
  }
  for (const { degrees, at } of lats) {
    if (at < FRAME + 22 || at > height - 50) continue;
    c.save();
    c.translate((FRAME - 3) / 2 + 0.5, at);
    c.rotate(-Math.PI / 2);
    c.fillText(text(degrees, " N", " S"), 0, 0);
    c.restore();
  }
}

function paintCross({ context: c, width, height, theme }) {
  c.beginPath();
  line(c, width / 2 - 9, height / 2, width / 2 + 9, height / 2);
  line(c, width / 2, height / 2 - 9, width / 2, height / 2 + 9);
  c.strokeStyle = theme.accent;
  c.lineWidth = 1.5;
  c.stroke();
}
