import { clamp, latAt, lonAt, mercX, mercY } from "./mercator.js";
import { paint, readTheme, STATUSES } from "./paint.js";

const MAX_SCALE = 256 * 2 ** 19;
const NUDGE = 90;
const CLICK_SLACK = 5;

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class PlaceMap {
  constructor(canvas, { onMove, onPick, onDraw, covered }) {
    Object.assign(this, { canvas, onMove, onPick, onDraw, covered });
    this.context = canvas.getContext("2d", { alpha: false });
    this.view = { x: 0.5, y: 0.5, scale: 512 };
    this.places = [];
    this.most = 0;
    this.touched = false;
    this.pointers = new Map();
    this.theme = readTheme();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.theme = readTheme();
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
    this.resize();
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    this.ratio = window.devicePixelRatio || 1;
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * this.ratio);
    this.canvas.height = Math.round(clientHeight * this.ratio);
    if (!this.touched) this.fit(false);
    this.hold();
    // why: changing a canvas's size empties it; waiting for the next frame would flash
    this.draw();
    if (this.touched) this.onMove();
  }

  show(features, { generation, matched, whole }) {
    const keep = this.selected?.id;
    this.places = features.filter((f) => f.geometry?.coordinates?.length >= 2).map((feature) => {
      const [lon, lat] = feature.geometry.coordinates;
      const { status, name } = feature.properties;
      return { id: feature.id, feature, lon, lat, x: mercX(lon), y: mercY(lat), name, status: STATUSES.includes(status) ? status : "unknown" };
    });
    this.generation = generation;
    this.most = whole ? matched : Math.max(this.most, matched);
    this.hovered = null;
    if (keep !== undefined) this.selected = this.places.find((p) => p.id === keep) ?? this.selected;
    this.stretchExtent(whole);
    if (!this.touched) this.fit(false);
    this.redraw();
  }

  stretchExtent(anew) {
    const e = anew || !this.extent ? { west: 1, east: 0, north: 1, south: 0 } : this.extent;
    for (const { lon, lat, x, y } of this.places) {
      // why: 0,0 is what providers send for "no position"
      if (lon === 0 && lat === 0) continue;
      e.west = Math.min(e.west, x);
      e.east = Math.max(e.east, x);
      e.north = Math.min(e.north, y);
      e.south = Math.max(e.south, y);
    }
    this.extent = e.east >= e.west ? e : null;
  }

  fit(moving = true) {
    const e = this.extent ?? { west: 0.06, east: 0.96, north: 0.2, south: 0.75 };
    // why: the legend may stand beside or below the places; whichever leaves them larger
    const goal = this.covered().map((sides) => this.fitWithin(e, sides)).sort((a, b) => b.scale - a.scale)[0];
    if (!moving) {
      this.view = goal;
      this.hold();
      return;
    }
    const from = { ...this.view };
    this.animate((t) => {
      const s = from.scale * (goal.scale / from.scale) ** t;
      // why: with the scale's own share of the way, the far end does not swing past
      const part = goal.scale === from.scale ? t : (1 / from.scale - 1 / s) / (1 / from.scale - 1 / goal.scale);
      this.view = { scale: s, x: from.x + (goal.x - from.x) * part, y: from.y + (goal.y - from.y) * part };
    });
  }

  fitWithin(e, { left, top, right, bottom }) {
    const across = (this.width - left - right) / Math.max(e.east - e.west, 1e-5);
    const down = (this.height - top - bottom) / Math.max(e.south - e.north, 1e-5);
    const scale = this.heldScale(Math.min(across, down));
    return { scale, x: (e.west + e.east) / 2 - (left - right) / 2 / scale, y: (e.north + e.south) / 2 - (top - bottom) / 2 / scale };
  }

  heldScale(scale) {
    return clamp(scale, Math.max(200, Math.min(this.width, this.height) * 0.9), MAX_SCALE);
  }

  hold() {
    this.view.scale = this.heldScale(this.view.scale);
    this.view.x = clamp(this.view.x, 0, 1);
    this.view.y = clamp(this.view.y, 0, 1);
  }

  box() {
    const halfX = this.width / 2 / this.view.scale;
    const halfY = this.height / 2 / this.view.scale;
    const { x, y } = this.view;
    return [Math.max(-180, lonAt(x - halfX)), latAt(Math.min(1, y + halfY)), Math.min(180, lonAt(x + halfX)), latAt(Math.max(0, y - halfY))];
  }

  screen(place) {
    return [(place.x - this.view.x) * this.view.scale + this.width / 2, (place.y - this.view.y) * this.view.scale + this.height / 2];
  }

  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y -= dy / this.view.scale;
    this.moved();
  }

  zoomAt(px, py, factor) {
    const scale = this.heldScale(this.view.scale * factor);
    const change = 1 / this.view.scale - 1 / scale;
    this.view.x += (px - this.width / 2) * change;
    this.view.y += (py - this.height / 2) * change;
    this.view.scale = scale;
    this.moved();
  }

  zoomSmoothly(factor, px = this.width / 2, py = this.height / 2) {
    let before = 0;
    this.animate((t) => {
      this.zoomAt(px, py, factor ** (t - before));
      before = t;
    });
  }

  animate(step) {
    cancelAnimationFrame(this.animation);
    if (calm.matches) {
      step(1);
      this.moved();
      return;
    }
    const began = performance.now();
    const frame = (now) => {
      const t = clamp((now - began) / 260, 0, 1);
      step(1 - (1 - t) ** 3);
      this.moved();
      if (t < 1) this.animation = requestAnimationFrame(frame);
    };
    this.animation = requestAnimationFrame(frame);
  }

  moved() {
    this.touched = true;
    this.hold();
    this.redraw();
    this.onMove();
  }

  redraw() {
    this.pending ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.pending);
    this.pending = null;
    if (!this.width || !this.height) return;
    const counts = paint(this);
    const drawn = Object.values(counts).reduce((sum, n) => sum + n, 0);
    this.canvas.dataset.drawn = drawn;
    this.canvas.dataset.generation = this.generation ?? "";
    this.onDraw(counts, drawn, this.view);
  }

  // why: places that share a spot are all reachable, one click after the other
  at(px, py, reach) {
    const near = [];
    for (const place of this.places) {
      const [x, y] = this.screen(place);
      const distance = Math.hypot(x - px, y - py);
      if (distance <= reach) near.push({ place, distance });
    }
    near.sort((a, b) => a.distance - b.distance);
    return near.filter((n) => n.distance - near[0].distance < 1.5).map((n) => n.place);
  }

  pick(px, py, reach) {
    const found = this.at(px, py, reach);
    const next = (found.indexOf(this.selected) + 1) % (found.length || 1);
    this.select(found[next] ?? null, found.length - 1);
  }

  select(place, others = 0) {
    this.selected = place;
    this.redraw();
    this.onPick(place?.feature ?? null, others);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener("pointerdown", (e) => this.pointerDown(e));
    canvas.addEventListener("pointermove", (e) => this.pointerMove(e));
    canvas.addEventListener("pointerup", (e) => this.pointerUp(e));
    canvas.addEventListener("pointercancel", (e) => this.letGo(e));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("dblclick", (e) => this.zoomSmoothly(e.shiftKey ? 0.5 : 2, e.offsetX, e.offsetY));
    canvas.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
    canvas.addEventListener("keydown", (e) => this.key(e));
    for (const change of ["focus", "blur"]) canvas.addEventListener(change, () => this.redraw());
  }

  pointerDown(e) {
    if (e.button !== 0) return;
    cancelAnimationFrame(this.animation);
    this.canvas.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.travel = this.pointers.size > 1 ? Infinity : 0;
  }

  pointerMove(e) {
    const finger = this.pointers.get(e.pointerId);
    if (!finger) {
      this.hover(e.pointerType === "touch" ? null : this.at(e.offsetX, e.offsetY, 9)[0]);
      return;
    }
    const before = this.grip();
    this.travel += Math.hypot(e.offsetX - finger.x, e.offsetY - finger.y);
    finger.x = e.offsetX;
    finger.y = e.offsetY;
    // why: a hand is never quite still; a click must not become a tiny drag
    if (this.travel < CLICK_SLACK) return;
    const after = this.grip();
    this.canvas.classList.add("dragging");
    this.pan(after.x - before.x, after.y - before.y);
    if (before.spread && after.spread) this.zoomAt(after.x, after.y, after.spread / before.spread);
  }

  grip() {
    const [a, b] = this.pointers.values();
    return b ? { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, spread: Math.hypot(a.x - b.x, a.y - b.y) } : { ...a, spread: 0 };
  }

  pointerUp(e) {
    if (!this.letGo(e)) return;
    if (!this.pointers.size && this.travel < CLICK_SLACK) this.pick(e.offsetX, e.offsetY, e.pointerType === "touch" ? 20 : 10);
  }

  letGo(e) {
    this.canvas.classList.remove("dragging");
    return this.pointers.delete(e.pointerId);
  }

  hover(place) {
    if (this.hovered === (place ?? null)) return;
    this.hovered = place ?? null;
    this.canvas.classList.toggle("over", Boolean(place));
    this.redraw();
  }

  wheel(e) {
    e.preventDefault();
    cancelAnimationFrame(this.animation);
    const pixels = e.deltaY * (e.deltaMode === 1 ? 20 : e.deltaMode === 2 ? 400 : 1);
    this.zoomAt(e.offsetX, e.offsetY, Math.exp(-clamp(pixels, -300, 300) * (e.ctrlKey ? 0.008 : 0.0022)));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const acts = {
      ArrowLeft: () => this.pan(NUDGE, 0),
      ArrowRight: () => this.pan(-NUDGE, 0),
      ArrowUp: () => this.pan(0, NUDGE),
      ArrowDown: () => this.pan(0, -NUDGE),
      "+": () => this.zoomSmoothly(2),
      "=": () => this.zoomSmoothly(2),
      "-": () => this.zoomSmoothly(0.5),
      0: () => this.fit(),
      Enter: () => this.pick(this.width / 2, this.height / 2, Infinity),
      Escape: () => this.select(null),
    };
    if (!acts[e.key]) return;
    e.preventDefault();
    acts[e.key]();
  }
}
