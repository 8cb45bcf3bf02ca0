// The timeline and the wire log: built once; a moment is a clip and what appears.
// What appears with an event: shown while the event is among the first `position`.
let parts = [], shown = 0;
const appears = (event, element) => { element.hidden = true; parts.push([event, element]); return element; };
function reveal() {
  while (shown < parts.length && parts[shown][0] < position) parts[shown++][1].hidden = false;
  while (shown > 0 && parts[shown - 1][0] >= position) parts[--shown][1].hidden = true;
}

const clips = [], labels = [];
const width = Math.max(...stops.map((stop) => stop.x), ...run.ticks.map((tick) => tick[0])) + 46;
function row(name, title, client) {
  const element = make("div", `row ${name}`), label = make("div", "label"), track = make("div", "track");
  track.style.width = `${width * COLUMN}px`;
  label.append(make("span", "", title), make("small"));
  if (client !== undefined) colour(label, client).firstChild.style.color = "var(--c)";
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
  element.style.left = `${from * COLUMN}px`;
  element.style.width = `${Math.max(1, (to ?? width) - from) * COLUMN}px`;
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
    element.style.left = `${mark.x * COLUMN}px`;
    const next = list.slice(n + 1).find((other) => other.x > mark.x);
    element.style.maxWidth = `${((next ? next.x : width) - mark.x) * COLUMN - 4}px`;
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
      mark.append(entry.done);
      mark.classList.toggle("told", entry.kind === "nil");
      if (entry.kind === "error") mark.firstChild.replaceWith(make("span", "error", entry.done));
      return;
    }
    const sent = make("span", "", entry.sent), done = make("span", `done ${entry.kind}`, entry.done);
    mark.append(sent, appears(entry.r, done));
    replaced.push([entry.r, sent]);
  });
  labels.push(() => {
    const beliefs = data.bars.filter((bar) => bar.e < position && (bar.end === null || bar.end >= position));
    label.lastChild.textContent = beliefs.map((bar) => say(bar.kind)).join(", ");
    label.classList.toggle("dead", beliefs.some((bar) => bar.kind === "dead"));
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", `${data.name}: ${label.lastChild.textContent || "–"}`);
    return beliefs.some((bar) => HELD.has(bar.kind));
  });
}
// What a reply takes the place of.
const replaced = [];
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
    mark.append(`${entry.notified ? "↯ " : ""}${entry.what}${entry.count > 1 ? ` ×${entry.count}` : ""}`);
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
  data.sample.forEach(lane);
}
function truth(data) {
  const { label, track } = row("truth", data.server);
  label.lastChild.textContent = data.lock || "";
  backdrop(track);
  const bars = clip(track);
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
    tick.style.left = `${stop.x * COLUMN}px`;
    track.append(appears(stop.p - 1, tick));
    free = stop.x + 12;
  }
}
function build() {
  run.lanes.forEach(lane);
  run.bands.forEach(band);
  run.truths.forEach(truth);
  axis();
  for (const fault of run.faults) {
    const strike = make("div", "strike");
    strike.style.left = `${offset() + fault.x * COLUMN}px`;
    $("chart").append(appears(fault.e, strike));
  }
  const head = make("div");
  head.id = "head";
  $("chart").append(head);
  const rows = [...run.wire.map((entry) => [entry.e, entry]), ...run.faults.map((entry) => [entry.e, { ...entry, fault: true }])];
  rows.sort((one, other) => one[0] - other[0]).forEach(([event, entry]) => $("wire").querySelector("ol").append(wireRow(event, entry)));
  parts.sort((one, other) => one[0] - other[0]);
  replaced.sort((one, other) => one[0] - other[0]);
  const around = $("marks");
  stops.forEach((stop, n) => {
    const before = n ? stops[n - 1].p : 0, within = (entry) => entry.e >= before && entry.e < stop.p && !stop.verdict;
    const mark = run.clashes.some(within) ? ["v", "▲"] : run.faults.some(within) ? ["f", "✝"]
      : stop.kind === "question" && !stop.verdict ? ["q", "?"] : null;
    if (!mark) return;
    const element = make("span", ...mark);
    element.style.left = `${(n / Math.max(1, last)) * 100}%`;
    around.append(element);
  });
  $("scrub").max = last;
  for (const factor of new Set([0.25, 0.5, 1, 2, 4, 10, speed].sort((a, b) => a - b))) {
    const option = make("option", "", `${factor}×`);
    option.value = factor;
    option.selected = factor === speed;
    $("speed").append(option);
  }
}
const offset = () => $("chart").querySelector(".label").offsetWidth;
function wireRow(event, entry) {
  const item = make("li"), says = make("span", "says");
  item.dataset.event = event;
  if (entry.r !== undefined) item.dataset.reply = entry.r;
  item.append(make("time", "", when(entry.at)));
  if (entry.fault) {
    item.className = "fault";
    item.append(make("span", "who", entry.glyph), says);
    retold.push(() => { says.textContent = text(entry.says).replace(/^\S+ /, ""); });
  } else {
    const many = entry.count > 1 ? ` ×${entry.count}` : "";
    item.append(colour(make("span", "who", `${GLYPHS[entry.client % 8]} ${entry.who}${many}`), entry.client), says);
    says.append(make("span", "", entry.says));
    if (entry.kind === "notified") item.className = "notified";
    else {
      const arrow = make("span", "arrow", " → "), flight = make("span", "arrow");
      says.append(arrow, flight);
      retold.push(() => { flight.textContent = say("flight"); });
      if (entry.r !== undefined) {
        says.append(appears(entry.r, make("span", `reply ${entry.kind}`, entry.reply)));
        replaced.push([entry.r, flight]);
      }
    }
  }
  item.addEventListener("click", () => { pause(); light(event); go(stops.findIndex((stop) => stop.p > event)); });
  return appears(event, item);
}
// What has to be said anew in the other language.
const retold = [];

let hid = 0;
function swap() {
  while (hid < replaced.length && replaced[hid][0] < position) replaced[hid++][1].hidden = true;
  while (hid > 0 && replaced[hid - 1][0] >= position) replaced[--hid][1].hidden = false;
}

/** Everything that depends on the moment. */
function draw() {
  reveal();
  swap();
  const right = (x + 1) * COLUMN;
  for (const element of clips) element.style.width = `${right}px`;
  const from = offset();
  $("head").style.left = `${from + x * COLUMN}px`;
  $("clock").textContent = when(now);
  for (const label of labels) label();
  const words = text(run.alarms.findLast(([event]) => event < position)?.[1]), alarm = $("alarm");
  alarm.hidden = !words;
  if (alarm.textContent !== words) alarm.textContent = words;
  drawServers();
  const list = $("wire").querySelector("ol");
  list.scrollTop = list.scrollHeight;
  follow(from);
}
function follow(from) {
  const scroll = $("scroll"), at = x * COLUMN, room = scroll.clientWidth - from;
  if (at < scroll.scrollLeft + 40 || at > scroll.scrollLeft + room * 0.72) scroll.scrollLeft = Math.max(0, at - room * 0.6);
}
