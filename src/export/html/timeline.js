// The timeline of a run. It is built when the run is loaded; a moment then only decides which elements are visible, and
// how far they reach. The exported page and the stage of a class use it.
let run, stops, last, total;
let step = 0, position = 0, x = 0, now = 0;
let COLUMN = 8; // the width of a column, in pixels
// How far the chart is drawn: the area right of the playhead is now, and whatever lasts is drawn up to its end.
let edge = 0;
// Columns that are wider than the others.
let wide = null;
// How much of the chart has been scrolled out at the left.
let gone = 0;
// Whether the whole run is shown at once.
let whole = false;
const EMBED = /^#embed\b/.test(location.hash);
const HELD = new Set(["holding", "sharing"]);
/** Shares of the chart's width: for now, for now while something is wrong, for what was wrong, for now at the end. */
const NOW = 0.28, WRONG = 0.36, WAS_WRONG = 0.42, OVER = 0.1;
/** The width of a time on the axis, in pixels; it begins at its column. */
const TIME = 64;
/** Less of a text that began out of sight is not shown. */
const STUB = 90;
/** On a phone, what is wrong needs a larger share. */
const NARROW = 400, WRONG_NARROW = 0.48;
/** How far rows are scaled down in an article; below that they become lower and omit commands. */
const LEGIBLE = 0.75;
/** The largest share of the chart for what a step changed. */
const VALUE = 0.58;
/** The left edge of a column, in pixels. */
const px = (n) => n * COLUMN + (wide ? Math.max(0, Math.min(n, wide.to) - wide.from) * wide.more : 0);
const isOver = (end) => end !== null && end !== undefined && end < position;
// Elements that appear with an event: visible while the event is among the first `position`.
let parts = [], shown = 0;
const appears = (event, element) => { element.hidden = true; parts.push([event, element]); return element; };
function reveal() {
  while (shown < parts.length && parts[shown][0] < position) parts[shown++][1].hidden = false;
  while (shown > 0 && parts[shown - 1][0] >= position) parts[--shown][1].hidden = true;
}

// Elements with columns; callbacks that depend on the moment; texts of labels.
let spots = [], moved = [], labels = [];
// Elements replaced by a reply; callbacks for a change of language; callbacks for drawing a moment.
let replaced = [], hid = 0, retold = [];
const drawn = [];
/** Sets the text of an element, now and whenever the language changes. */
function translated(element, words) {
  const tell = () => { element.textContent = words(); };
  tell();
  retold.push(tell);
  return element;
}
function row(name, title, client) {
  const element = make("div", `row ${name}`), label = make("div", "label"), track = make("div", "track");
  label.append(make("span", "", title), make("small"));
  if (client !== undefined) colour(label, client).firstChild.classList.add("ink");
  element.append(label, track);
  $("chart").append(element);
  return { element, label, track };
}
/** Places an element at a column. It extends to column `to` once the event `end` is over. */
function place(element, from, to, end) {
  spots.push({ element, from, to, end, left: "", width: "" });
  return element;
}
/** The same on the chart, where tracks begin beside their names. */
function across(element, from, to, end) {
  place(element, from, to, end);
  spots[spots.length - 1].beside = true;
  return element;
}
function settleSpots() {
  for (const spot of spots) {
    if (spot.element.hidden) continue;
    const from = px(spot.from), style = spot.element.style;
    const left = spot.beside ? `calc(var(--label) + ${from}px)` : `${from}px`;
    if (spot.left !== left) style.left = spot.left = left;
    if (spot.to === undefined) continue;
    const lasting = spot.head ? px(x) : edge;
    const wide = Math.max(COLUMN, (spot.to !== null && isOver(spot.end) ? px(spot.to) : lasting) - from), width = `${wide}px`;
    if (spot.width === width && !spot.words) continue;
    style.width = spot.width = width;
    if (spot.words) {
      const room = spot.words(), out = beyond(spot.from);
      style.setProperty("--out", `${out}px`);
      spot.element.classList.toggle("narrow", wide - out < room);
      spot.element.classList.toggle("tiny", wide - out < 24);
    }
  }
}
/** How far a column has been scrolled out at the left: words begin where they can be seen. */
const beyond = (column) => Math.max(0, gone - px(column));
/** The width of a mark's glyph and a few letters of its text; with less, a cut letter would say nothing. */
const LEAST_WORDS = 50;
/** Draws marks. The text of a mark may extend to the next visible mark of its row; with less than `draw` returns, only
 *  the glyph is shown. */
function marks(track, list, client, draw) {
  const all = list.map((mark) => {
    const element = place(colour(make("div", "mark"), client), mark.x);
    element.dataset.glyph = glyphOf(client);
    const least = draw(element, mark);
    track.append(appears(mark.e, element));
    return { element, x: mark.x, least };
  });
  moved.push(() => {
    let until = edge - 4, next = Infinity;
    for (const { element, x: at, least } of all.slice().reverse()) {
      if (element.hidden) continue;
      if (at < next && next < Infinity) until = px(next) - 4;
      const out = beyond(at);
      // Of several marks in one column the newest has the room.
      const room = at === next ? 0 : Math.max(0, until - px(at) - out);
      next = at;
      element.style.maxWidth = `${room}px`;
      element.style.marginLeft = `${out}px`;
      element.classList.toggle("out", out > 0 && room < STUB);
      element.classList.toggle("bare", room < (least || LEAST_WORDS));
    }
  });
}
/** A command may be cut; its result stays visible as long as there is any room. */
function said(words) {
  const at = words.lastIndexOf(" → ");
  return at < 0 ? [words, ""] : [words.slice(0, at), words.slice(at)];
}
/** Writes a text of two parts, of which the first is cut first, now and whenever the language changes. */
function telling(element, words) {
  const tell = () => {
    const [cut, kept] = words();
    element.replaceChildren(make("span", "cut", cut));
    if (kept) element.append(make("span", "kept", kept));
  };
  tell();
  retold.push(tell);
  return element;
}
/** The pieces of a bar: an outline where no server confirms it, another fill where a value read has changed. */
function pieces(bar) {
  const list = [];
  let [from, event] = [bar.a, bar.e];
  for (const [a, e, b, end] of bar.bare) {
    // A column may have several events.
    if (e > event) list.push({ from, event, to: a, end: e, bare: false });
    const open = end === null;
    list.push({ from: a, event: e, to: open ? bar.b : b, end: open ? bar.end : end, bare: true });
    if (open) return list;
    [from, event] = [b, end];
  }
  list.push({ from, event, to: bar.b, end: bar.end, bare: false });
  return list;
}
/** Splits a piece of a bar into the parts before, in and after an overlap; one who has left holds no more. */
function split(piece, clash, left) {
  const overs = [[clash.b, clash.end], left].filter((over) => over && over[0] !== null && over[0] !== undefined);
  const [to, end] = overs.sort((one, other) => one[1] - other[1])[0] || [null, null];
  const last = piece.end ?? Infinity, over = end ?? Infinity;
  if (clash.e >= last || over <= piece.event) return [piece];
  const list = piece.event < clash.e ? [{ ...piece, to: clash.a, end: clash.e }] : [];
  const until = last <= over ? {} : { to, end };
  list.push({ ...piece, from: Math.max(piece.from, clash.a), event: Math.max(piece.event, clash.e), ...until, both: true });
  if (over < last) list.push({ ...piece, from: to, event: end });
  return list;
}
/** The width in which words are not cut. */
const roomOf = (words) => 8 + [...words].reduce((sum, sign) => sum + (sign > "\u2e80" ? 13 : 7.9), 0);
const IN_BAR = { holding: "mine", sharing: "shared", waiting: "waits", saw: "saw" };
function bar(track, data, entry, bars) {
  let list = pieces(entry);
  if (HELD.has(entry.kind)) {
    for (const clash of run.clashes.filter((clash) => clash.lock === entry.lock)) list = list.flatMap((piece) => split(piece, clash, entry.left));
  }
  const never = entry.bare.length > 0 && entry.bare[0][1] === entry.e;
  for (const piece of list) {
    const element = colour(make("div", `bar ${entry.kind}${piece.bare ? " bare" : ""}${piece.both ? " both" : ""}`), data.client);
    place(element, piece.from, piece.to ?? null, piece.end);
    const key = piece.bare && HELD.has(entry.kind) ? (never ? "never" : "still") : IN_BAR[entry.kind];
    if (key || entry.says) {
      const name = make("div", "name"), words = make("span");
      name.append(make("b", "", glyphOf(data.client)), words);
      translated(words, () => ` ${HELD.has(entry.kind) ? `${data.name} · ` : ""}${entry.says ? text(entry.says) : say(key, entry.value)}`);
      element.append(name);
      spots[spots.length - 1].words = () => 22 + roomOf(words.textContent);
    }
    bars.push(element);
    track.append(appears(piece.event, element));
  }
}
function lane(data) {
  const { element, label, track } = row(data.bars.length ? "lane" : "lane flat", `${glyphOf(data.client)} ${data.name}`, data.client);
  const bars = [];
  for (const entry of data.bars) bar(track, data, entry, bars);
  // A later bar of the lane covers an earlier one, whose name then ends before it.
  const named = bars.filter((element) => element.querySelector(".name"));
  if (named.length > 1) moved.push(() => {
    const there = named.filter((element) => !element.hidden)
      .map((element) => ({ element, from: element.offsetLeft, end: element.offsetLeft + element.offsetWidth }));
    there.forEach(({ element, from, end }, n) => {
      const name = element.querySelector(".name");
      const covers = (other, m) => other.from < end - 1 && (other.from > from || (other.from === from && m > n));
      const to = Math.min(end, ...there.filter(covers).map((other) => other.from));
      name.style.right = to < end ? `${end - to}px` : "";
      if (to === end) return;
      const room = to - Math.max(from, gone);
      element.classList.toggle("narrow", room < 22 + roomOf(name.textContent));
      element.classList.toggle("tiny", room < 24);
    });
  });
  marks(track, data.marks, data.client, (mark, entry) => {
    mark.dataset.event = entry.e;
    if (entry.kind === "note" || entry.r === null) {
      mark.append(telling(make("span", entry.kind === "error" ? "error" : ""), () => said(text(entry.done))));
      mark.classList.toggle("told", entry.kind === "nil");
      return;
    }
    const sent = telling(make("span"), () => said(text(entry.sent)));
    const done = telling(make("span", `done ${entry.kind}`), () => said(text(entry.done)));
    mark.append(sent, appears(entry.r, done));
    replaced.push([entry.r, sent]);
  });
  element.dataset.who = data.name;
  labels.push(() => {
    const beliefs = data.bars.filter((bar) => bar.e < position && !isOver(bar.end) && SAYS[bar.kind] && bar.kind !== "saw");
    const bare = (bar) => bar.bare.some(([, e, , end]) => e < position && !isOver(end));
    label.lastChild.textContent = beliefs.map((bar) => say(HELD.has(bar.kind) && bare(bar) ? "mistaken" : bar.kind)).join(", ");
    label.classList.toggle("dead", beliefs.some((bar) => bar.kind === "dead"));
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", `${data.name}: ${label.lastChild.textContent || "–"}`);
    return beliefs.some((bar) => HELD.has(bar.kind));
  });
}
function truth(data) {
  const { element, label, track } = row(data.marks.length ? "truth told" : "truth", data.server);
  element.dataset.server = data.server;
  label.lastChild.textContent = data.lock || "";
  const states = run.states.filter((state) => state.server === data.server);
  states.forEach((state, n) => {
    if (!state.died || states[n - 1]?.died) return;
    const again = states.slice(n + 1).find((later) => !later.died);
    track.append(appears(state.e, place(make("div", "bar dead"), state.x, again?.x ?? null, again?.e)));
  });
  const marks = data.marks.map((mark) => {
    const element = place(make("div", `became ${mark.tone}`), mark.x);
    track.append(appears(mark.e, element));
    return { element, mark };
  });
  moved.push(() => {
    const there = marks.filter(({ element }) => !element.hidden);
    there.forEach(({ element, mark }, n) => {
      const until = n + 1 < there.length ? px(there[n + 1].mark.x) : edge, out = beyond(mark.x);
      const room = Math.max(0, until - px(mark.x) - out - 4);
      element.style.maxWidth = `${room}px`;
      element.style.marginLeft = `${out}px`;
      element.classList.toggle("out", out > 0 && room < STUB);
      // Instead of cut words, only their glyph is shown.
      const says = text(mark.says), words = room < roomOf(says) && says[1] === " " ? says[0] : says;
      if (element.textContent !== words) element.textContent = words;
    });
  });
  labels.push(() => {
    const state = states.findLast((state) => state.e < position), died = state?.died;
    label.classList.toggle("dead", Boolean(died));
    label.firstChild.textContent = data.server + (state?.role?.leads && !died ? " ♛" : "");
    label.lastChild.textContent = died ? `✝ ${say("dead")}` : data.lock || "";
    return false;
  });
  const named = [];
  for (const span of data.spans) {
    const bar = colour(make("div", span.value ? "bar value" : "bar"), span.client);
    const name = make("div", "name");
    if (span.value) name.textContent = span.token;
    else {
      const drain = make("div", "drain");
      if (span.lease) moved.push(() => { if (!bar.hidden) drain.style.clipPath = drained(span); });
      bar.append(drain);
      const glyph = span.client === null ? "" : glyphOf(span.client), words = ` ${span.owner || span.token}`, holder = make("i", "", glyph);
      // In a narrow bar the glyph stands for the name.
      holder.append(glyph ? make("span", "", words) : words);
      name.append(holder);
    }
    bar.append(name);
    track.append(appears(span.e, place(bar, span.a, span.b, span.end)));
    if (span.value || name.querySelector("span")) spots[spots.length - 1].words = () => roomOf(name.textContent);
    named.push({ bar, name });
  }
  if (!marks.length) return;
  // In a dense chart, changes of the server's role share the line of the bars' names, which then begin after them.
  moved.push(() => {
    const dense = $("chart").classList.contains("dense"), there = dense ? marks.filter(({ element }) => !element.hidden) : [];
    for (const { bar, name } of named) {
      if (bar.hidden) continue;
      const from = bar.offsetLeft, to = from + bar.offsetWidth;
      let free = from;
      for (const { element } of there) {
        const left = element.offsetLeft, right = left + element.offsetWidth;
        if (left < Math.min(to, free + roomOf(name.textContent)) && right > free) free = right;
      }
      name.style.paddingLeft = free > from ? `${free - from + 4}px` : "";
      name.hidden = free > from && to - free < 30;
    }
  });
}
/** The shape of a lease, from column to column up to its end; right of the playhead, its current level. */
function drained(span) {
  const from = px(span.a), over = span.b !== null && isOver(span.end), all = Math.max(COLUMN, (over ? px(span.b) : edge) - from);
  const tops = [];
  let level = 0;
  for (let n = 0; n < span.lease.length && (over || span.a + n <= x); n++) {
    level = 100 - (parseInt(span.lease[n], 36) * 100) / 35;
    tops.push(`${(((px(span.a + n) - from) / all) * 100).toFixed(2)}% ${level.toFixed(1)}%`);
  }
  return `polygon(0 100%, ${tops.length ? tops.join(", ") : "0 0"}, 100% ${level.toFixed(1)}%, 100% 100%)`;
}
function axis() {
  const { track } = row("axis", "");
  const ticks = run.steps.map((stop) => {
    const tick = place(make("div", "when", when(stop.at)), stop.x);
    track.append(appears(stop.p - 1, tick));
    return { tick, x: stop.x, room: tick.textContent.length * 7.2 + 12 };
  });
  moved.push(() => {
    // The newest time is shown, and of the earlier ones as many as fit.
    let until = Infinity;
    for (const { tick, x: at, room } of ticks.slice().reverse()) {
      if (tick.hidden) continue;
      const fits = px(at) + room <= until && !beyond(at);
      tick.classList.toggle("full", !fits);
      if (fits) until = px(at);
    }
  });
}
/** Replaces the run; `more` adds further elements that appear with its events. */
function load(data, more) {
  run = data;
  stops = run.steps.slice();
  if (run.verdict) stops.push({ ...stops[stops.length - 1], verdict: true });
  last = stops.length - 1;
  total = run.steps.reduce((most, stop) => Math.max(most, stop.n || 0), 0);
  parts = []; spots = []; moved = []; labels = []; replaced = []; retold = [];
  shown = hid = 0;
  $("chart").replaceChildren();
  for (const clash of run.clashes) {
    $("chart").append(appears(clash.e, across(make("div", "clash"), clash.a, clash.b ?? null, clash.end)));
  }
  run.lanes.forEach(lane);
  run.bands.forEach(band);
  run.truths.forEach(truth);
  axis();
  const links = [];
  for (const fault of run.faults) {
    const strike = across(make("div", "strike"), fault.x);
    // Links have no lane of their own.
    if (fault.link) {
      const label = make("b");
      strike.append(label);
      links.push({ strike, label, fault });
    }
    $("chart").append(appears(fault.e, strike));
  }
  $("chart").classList.toggle("linked", links.length > 0);
  moved.push(() => {
    // Where two faults of links are close to each other, the earlier one leaves its glyph, or nothing.
    let until = edge;
    for (const { strike, label, fault } of links.slice().reverse()) {
      if (strike.hidden) continue;
      const room = until - px(fault.x), words = `${fault.glyph} ${fault.link}`;
      const fitting = [words, fault.glyph].find((words) => roomOf(words) + 8 <= room) || "";
      if (label.textContent !== fitting) label.textContent = fitting;
      label.hidden = !fitting;
      if (fitting) until = px(fault.x);
    }
  });
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
/** The position at which the current step began. */
const begun = () => (whole ? 0 : stops.findLast((stop) => stop.p < position)?.p ?? 0);
/** What is wrong now; and what was wrong within the step, or within the whole run, and has ended. */
const wrong = () => run.clashes.filter((clash) => clash.e < position && !isOver(clash.end));
const past = () => (wrong().length ? undefined : run.clashes.find((clash) => clash.past && clash.e >= begun() && isOver(clash.end)));
/** The sentence on what went wrong in this step, unless the lesson has said more since. */
function news() {
  const found = whole ? undefined : run.clashes.find((clash) => clash.news && clash.e >= begun() && clash.e < position);
  const told = found && run.story.some((entry) => entry.says && entry.e > found.e && entry.e < position);
  return found && !told ? text(found.news) : "";
}
/** Names take as much as they need, within limits. In an article, the chart is as high as the frame, and the whole run fits
 *  into it. */
function fit() {
  const box = $("scroll"), chart = $("chart"), share = () => box.clientHeight / chart.offsetHeight;
  chart.style.zoom = 1;
  chart.style.removeProperty("--label");
  chart.classList.remove("dense");
  for (const label of labels) label();
  const names = [...chart.querySelectorAll(".label > span")].map((name) => {
    const beside = name.nextSibling, inline = getComputedStyle(beside).display === "inline";
    return inline ? name.offsetWidth + beside.offsetWidth : Math.max(name.offsetWidth, EMBED ? 0 : beside.scrollWidth);
  });
  const [least, most] = EMBED ? [96, 170] : [offset(), offset() * 1.4];
  chart.style.setProperty("--label", `${Math.min(most, Math.max(least, ...names.map((width) => width + 10)))}px`);
  if (!EMBED) return;
  chart.classList.toggle("dense", share() < LEGIBLE);
  chart.style.zoom = Math.min(1, share());
}
/** The width that the values changed in this step need; long ones take two lines in smaller letters. */
function newest(room) {
  const values = run.truths.flatMap((data) => data.spans.filter((span) => span.value));
  const changed = values.filter((span) => span.e >= begun() && span.e < position && !isOver(span.end));
  const width = (words) => (roomOf(words) < room * NOW ? roomOf(words) : Math.min(roomOf(words), roomOf(words) * 0.4 + 50));
  return Math.min(room * VALUE, Math.max(0, ...changed.map((span) => width(span.token))));
}
/** Sets the width of a column. A run that nearly fits is made to fit; now and what is wrong get their shares. */
function scale() {
  const zoom = Number($("chart").style.zoom) || 1, room = Math.max(80, $("scroll").clientWidth / zoom - offset());
  const length = Math.max(1, ...stops.map((stop) => stop.x)) + 1, was = past(), most = 14 / zoom;
  const worst = room < NARROW ? WRONG_NARROW : WRONG;
  const now = Math.max(TIME, newest(room), room * (wrong().length ? worst : whole ? OVER : NOW));
  const fits = (room * (1 - NOW)) / length;
  wide = null;
  COLUMN = EMBED ? Math.min(most, (room * (1 - worst)) / length) : fits < 5 ? 8 : Math.min(most, fits);
  if (whole) COLUMN = Math.min(COLUMN, (room - now) / length);
  if (was) {
    const columns = was.b - was.a + 1, wanted = room * WAS_WRONG;
    // What has come since must leave it in sight.
    const others = whole ? length - columns : x - was.b + 1;
    if (!whole || columns * COLUMN < wanted) COLUMN = Math.min(COLUMN, Math.max(0.5, (room - now - wanted) / Math.max(1, others)));
    if (columns * COLUMN < wanted) wide = { from: was.a, to: was.b, more: (wanted - columns * COLUMN) / Math.max(1, was.b - was.a) };
  } else if (wrong().length) {
    // So does the moment in which it began.
    COLUMN = Math.min(COLUMN, Math.max(0.5, (room - now) / (x - Math.min(...wrong().map((clash) => clash.a)) + 2)));
  }
  edge = Math.max(room, px(x) + now);
  gone = edge - room;
  const width = `${edge}px`;
  for (const track of $("chart").querySelectorAll(".track")) if (track.style.width !== width) track.style.width = width;
}
/** Draws messages in flight: commands in the first half of an animation, replies in the second. */
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
    dot.style.left = `calc(var(--label) + ${px(x)}px)`;
    dot.textContent = there ? entry.says : entry.kind === "notified" ? "↯" : entry.reply;
    box.append(dot);
  }
}

function swap() {
  while (hid < replaced.length && replaced[hid][0] < position) replaced[hid++][1].hidden = true;
  while (hid > 0 && replaced[hid - 1][0] >= position) replaced[--hid][1].hidden = false;
}

/** Places what depends on the columns' width and on how far the chart is scrolled. */
function lay() {
  settleSpots();
  for (const move of moved) move();
}
/** Draws everything that depends on the moment. */
function draw() {
  reveal();
  swap();
  scale();
  lay();
  $("head").style.left = `calc(var(--label) + ${px(x)}px)`;
  $("clock").textContent = when(now);
  for (const label of labels) label();
  // At the end, the consequence takes precedence over who held a lock together.
  const came = whole ? run.clashes.find((clash) => clash.past && !clash.lock) : undefined;
  const words = text(came?.past || run.alarms.findLast(([event]) => event < position)?.[1] || past()?.past), alarm = $("alarm");
  alarm.hidden = !words;
  if (alarm.textContent !== words) {
    alarm.textContent = words;
    // In an article it has one line, so a long text gets smaller letters.
    alarm.style.fontSize = "";
    if (EMBED && alarm.scrollWidth > alarm.clientWidth) alarm.style.fontSize = `${0.85 * alarm.clientWidth / alarm.scrollWidth}rem`;
  }
  document.body.classList.toggle("alarmed", Boolean(words));
  for (const part of drawn) part();
  // Now is at the right.
  $("scroll").scrollLeft = $("scroll").scrollWidth;
}
