// The timeline of a run: built when the run is loaded; a moment is a clip and what appears. The exported page and the
// stage of a class use it.
let run, stops, last, total, width;
let step = 0, position = 0, x = 0, now = 0;
let COLUMN = 8; // pixels; the length `--u` of the style
const EMBED = /^#embed\b/.test(location.hash);
const columns = (n) => `calc(var(--u) * ${n})`;
const HELD = new Set(["holding", "sharing"]);
// What appears with an event: shown while the event is among the first `position`.
let parts = [], shown = 0;
const appears = (event, element) => { element.hidden = true; parts.push([event, element]); return element; };
function reveal() {
  while (shown < parts.length && parts[shown][0] < position) parts[shown++][1].hidden = false;
  while (shown > 0 && parts[shown - 1][0] >= position) parts[--shown][1].hidden = true;
}

let clips = [], labels = [];
// What a reply takes the place of; what has to be said anew in the other language; what else a moment draws.
let replaced = [], hid = 0, retold = [];
const drawn = [];
/** An element whose words are said now, and anew in the other language. */
function translated(element, words) {
  const tell = () => { element.textContent = words(); };
  tell();
  retold.push(tell);
  return element;
}
function row(name, title, client) {
  const element = make("div", `row ${name}`), label = make("div", "label"), track = make("div", "track");
  track.style.width = columns(width);
  label.append(make("span", "", title), make("small"));
  if (client !== undefined) colour(label, client).firstChild.classList.add("ink");
  element.append(label, track);
  $("chart").append(element);
  return { element, label, track };
}
function clip(track) {
  const element = make("div", "clip");
  track.append(element);
  clips.push(element);
  return element;
}
function place(element, from, to) {
  element.style.left = columns(from);
  element.style.width = columns(Math.max(1, (to ?? width) - from));
  return element;
}
function backdrop(track) {
  const under = clip(track);
  for (const clash of run.clashes) under.append(appears(clash.e, place(make("div", "clash"), clash.a, clash.b)));
}
/** A mark's words may run on up to the next mark of the row. */
function marks(track, list, client, draw) {
  list.forEach((mark, n) => {
    const element = colour(make("div", "mark"), client);
    element.dataset.glyph = GLYPHS[client % 8];
    element.style.left = columns(mark.x);
    const next = list.slice(n + 1).find((other) => other.x > mark.x);
    element.style.maxWidth = `calc(${columns((next ? next.x : width) - mark.x)} - 4px)`;
    draw(element, mark);
    track.append(appears(mark.e, element));
  });
}
function lane(data) {
  const { element, label, track } = row(data.bars.length ? "lane" : "lane flat", `${GLYPHS[data.client % 8]} ${data.name}`, data.client);
  backdrop(track);
  const bars = clip(track);
  for (const bar of data.bars) {
    bars.append(colour(appears(bar.e, place(make("div", `bar ${bar.kind}`), bar.a, bar.b)), data.client));
    if (!HELD.has(bar.kind)) continue;
    for (const clash of run.clashes.filter((clash) => clash.lock === bar.lock)) {
      const from = Math.max(bar.a, clash.a), to = Math.min(bar.left ?? bar.b ?? width, clash.b ?? width);
      if (from < to) bars.append(appears(Math.max(bar.e, clash.e), place(make("div", "bar both"), from, to)));
    }
  }
  marks(track, data.marks, data.client, (mark, entry) => {
    mark.dataset.event = entry.e;
    if (entry.kind === "note" || entry.r === null) {
      mark.append(translated(make("span", entry.kind === "error" ? "error" : ""), () => text(entry.done)));
      mark.classList.toggle("told", entry.kind === "nil");
      return;
    }
    const sent = translated(make("span"), () => text(entry.sent));
    const done = translated(make("span", `done ${entry.kind}`), () => text(entry.done));
    mark.append(sent, appears(entry.r, done));
    replaced.push([entry.r, sent]);
  });
  element.dataset.who = data.name;
  labels.push(() => {
    const beliefs = data.bars.filter((bar) => bar.e < position && (bar.end === null || bar.end >= position));
    label.lastChild.textContent = beliefs.map((bar) => say(bar.kind)).join(", ");
    label.classList.toggle("dead", beliefs.some((bar) => bar.kind === "dead"));
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", `${data.name}: ${label.lastChild.textContent || "–"}`);
    return beliefs.some((bar) => HELD.has(bar.kind));
  });
}
function band(data) {
  const { element, label, track } = row("band", `${GLYPHS[data.client % 8]} ${data.name} ×${data.size}`, data.client);
  backdrop(track);
  const levels = clip(track);
  data.levels.forEach(([from, event, waiting, holding], n) => {
    const to = data.levels[n + 1] ? data.levels[n + 1][0] : width;
    const level = colour(place(make("div", holding > 1 ? "level both" : "level"), from, to), data.client);
    level.style.height = `${Math.round((Math.max(waiting, holding) / data.size) * 38)}px`;
    levels.append(appears(event, level));
  });
  marks(track, data.runs, data.client, (mark, entry) => {
    mark.dataset.event = entry.e;
    const words = () => `${entry.notified ? "↯ " : ""}${text(entry.what)}${entry.count > 1 ? ` ×${entry.count}` : ""}`;
    mark.append(translated(make("span"), words));
    mark.classList.toggle("told", entry.notified);
    mark.classList.toggle("herd", entry.notified && entry.count > 1);
  });
  labels.push(() => {
    const level = data.levels.filter((entry) => entry[1] < position).pop() || [0, 0, 0, 0];
    label.lastChild.textContent = `${say("waiting")} ${level[2]} · ${say("holding")} ${level[3]}`;
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", `${data.name}: ${label.lastChild.textContent}`);
    return false;
  });
  // An article has no room for single members.
  if (!EMBED) data.sample.forEach(lane);
}
function truth(data) {
  const { element, label, track } = row("truth", data.server);
  element.dataset.server = data.server;
  label.lastChild.textContent = data.lock || "";
  backdrop(track);
  const bars = clip(track), states = run.states.filter((state) => state.server === data.server);
  states.forEach((state, n) => {
    if (!state.died || states[n - 1]?.died) return;
    const again = states.slice(n + 1).find((later) => !later.died);
    bars.append(appears(state.e, place(make("div", "bar dead"), state.x, again?.x)));
  });
  labels.push(() => {
    const died = states.findLast((state) => state.e < position)?.died;
    label.classList.toggle("dead", Boolean(died));
    label.lastChild.textContent = died ? `✝ ${say("dead")}` : data.lock || "";
    return false;
  });
  for (const span of data.spans) {
    const bar = colour(appears(span.e, place(make("div", span.value ? "bar value" : "bar"), span.a, span.b)), span.client);
    const name = make("div", "name");
    if (span.value) name.textContent = span.token;
    else {
      const drain = make("div", "drain");
      if (span.lease) {
        const wide = 100 / span.lease.length;
        const tops = [...span.lease].map((digit, n) => `${n * wide}% ${100 - (parseInt(digit, 36) * 100) / 35}%`);
        drain.style.clipPath = `polygon(0 100%, ${tops.join(", ")}, 100% ${tops[tops.length - 1].split(" ")[1]}, 100% 100%)`;
      }
      bar.append(drain);
      const glyph = span.client === null ? "" : `${GLYPHS[span.client % 8]} `;
      name.append(make("i", "", glyph + (span.owner || span.token)));
    }
    bar.append(name);
    bars.append(bar);
  }
}
function axis() {
  const { track } = row("axis", "");
  let free = 0;
  for (const stop of run.steps) {
    if (stop.x < free) continue;
    const tick = make("div", "when", when(stop.at));
    tick.style.left = columns(stop.x);
    track.append(appears(stop.p - 1, tick));
    free = stop.x + 12 * Math.max(1, 8 / COLUMN);
  }
}
/** Draws another run in place of the one before, and more that appears with its events. */
function load(data, more) {
  run = data;
  stops = run.steps.slice();
  if (run.verdict) stops.push({ ...stops[stops.length - 1], verdict: true });
  last = stops.length - 1;
  total = run.steps.reduce((most, stop) => Math.max(most, stop.n || 0), 0);
  width = Math.max(...stops.map((stop) => stop.x), ...run.ticks.map((tick) => tick[0])) + 46;
  parts = []; clips = []; labels = []; replaced = []; retold = [];
  shown = hid = 0;
  $("chart").replaceChildren();
  run.lanes.forEach(lane);
  run.bands.forEach(band);
  run.truths.forEach(truth);
  axis();
  for (const fault of run.faults) {
    const strike = make("div", "strike");
    strike.style.left = `calc(var(--label) + ${columns(fault.x)})`;
    $("chart").append(appears(fault.e, strike));
  }
  for (const id of ["head", "flight"]) {
    const element = make("div");
    element.id = id;
    element.setAttribute("aria-hidden", "true");
    $("chart").append(element);
  }
  if (more) more();
  parts.sort((one, other) => one[0] - other[0]);
  replaced.sort((one, other) => one[0] - other[0]);
}
const offset = () => $("chart").querySelector(".label").offsetWidth;
/** A run that nearly fits the page fits it. In an article all of it does, whatever its length. */
function fit() {
  const box = $("scroll"), style = $("chart").style;
  style.zoom = 1;
  const zoom = EMBED ? Math.max(0.45, Math.min(1, box.clientHeight / $("chart").offsetHeight)) : 1;
  const room = (box.clientWidth / zoom - offset()) / width;
  COLUMN = EMBED ? Math.min(14 / zoom, room) : room < 5 ? 8 : Math.min(14, room);
  style.setProperty("--u", `${COLUMN}px`);
  style.zoom = zoom;
}
/** Messages on their way: from a client to a server in the first half of a glide, the reply in the second. */
function fly(share, from, to) {
  const box = $("flight");
  box.replaceChildren();
  if (share === null) return;
  const middle = (row) => row.offsetTop + row.offsetHeight / 2;
  for (const entry of run.wire) {
    const asks = entry.e >= from && entry.e < to && entry.kind !== "notified", told = entry.kind === "notified" && entry.e >= from && entry.e < to;
    const back = entry.r !== undefined && entry.r >= from && entry.r < to;
    if (!asks && !told && !back) continue;
    const client = document.querySelector(`[data-who="${CSS.escape(entry.who)}"]`);
    const server = document.querySelector(`[data-server="${CSS.escape(entry.server)}"]`);
    if (!client || !server) continue;
    const [a, b] = [middle(client), middle(server)];
    const there = asks && (share < 0.5 || !back), part = asks && back ? (share * 2) % 1 : share;
    const dot = colour(make("i", there ? "" : entry.kind), entry.client);
    dot.style.top = `${there ? a + (b - a) * part : b + (a - b) * part}px`;
    dot.style.left = `calc(var(--label) + ${columns(x)})`;
    dot.textContent = there ? entry.says : entry.kind === "notified" ? "↯" : entry.reply;
    box.append(dot);
  }
}

function swap() {
  while (hid < replaced.length && replaced[hid][0] < position) replaced[hid++][1].hidden = true;
  while (hid > 0 && replaced[hid - 1][0] >= position) replaced[--hid][1].hidden = false;
}

/** Everything that depends on the moment. */
function draw() {
  reveal();
  swap();
  for (const element of clips) element.style.width = columns(x + 1);
  const from = offset();
  $("head").style.left = `calc(var(--label) + ${columns(x)})`;
  $("clock").textContent = when(now);
  for (const label of labels) label();
  const words = text(run.alarms.findLast(([event]) => event < position)?.[1]), alarm = $("alarm");
  alarm.hidden = !words;
  if (alarm.textContent !== words) alarm.textContent = words;
  for (const part of drawn) part();
  follow(from);
}
function follow(from) {
  const scroll = $("scroll"), at = x * COLUMN, room = scroll.clientWidth - from;
  if (at < scroll.scrollLeft + 40 || at > scroll.scrollLeft + room * 0.72) scroll.scrollLeft = Math.max(0, at - room * 0.6);
}
