// Plays a run from its data. Everything that a lesson or a server says is written as text, never as markup.
(() => {
"use strict";
const run = JSON.parse(document.getElementById("run").textContent);
const COLUMN = 8; // pixels
const GLYPHS = ["●", "■", "▲", "◆", "▼", "★", "◇", "○"];
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const SAYS = {
  story: ["Story", "讲解"], intro: ["Before you start", "课前须知"], question: ["Your prediction", "先猜一猜"],
  verdict: ["Verdict", "结论"], lanes: ["Who believes what", "各方眼中的锁"],
  servers: ["What the servers hold", "服务器上的真相"], wire: ["On the wire", "网络收发"],
  holding: ["holding", "持有"], waiting: ["waiting", "等待"], unsure: ["unsure", "不确定"],
  frozen: ["frozen", "冻结"], dead: ["killed", "被杀死"], clash: ["{} HOLDERS AT ONCE", "{} 个持有者同时存在"],
  home: ["To the beginning (Home)", "回到开头 (Home)"], back: ["One step back (←)", "后退一步 (←)"],
  play: ["Play (Space)", "播放（空格）"], pause: ["Pause (Space)", "暂停（空格）"],
  forward: ["One step forward (→)", "前进一步 (→)"], end: ["To the end (End)", "到结尾 (End)"],
  scrub: ["Where in the run", "播放位置"], speed: ["Speed", "速度"], step: ["step {}/{}", "第 {}/{} 步"],
  recorded: ["RECORDED", "录像"], wall: ["WALL CLOCK", "真实时钟"], controlled: ["RECORDED", "录像"],
  expected: ["expected", "预期"], observed: ["observed", "实际"], takeaway: ["Take away", "要点"],
  happened: ["What happened: {}", "实际是：{}"],
  right: ["You were right: {}", "猜对了：{}"], wrong: ["You said: {}. What happened: {}", "你猜的是：{}。实际是：{}"],
  nothing: ["nothing yet", "暂无"], empty: ["empty", "空"], died: ["this server has died", "该服务器已退出"],
  forever: ["no expiry", "永不过期"], gone: ["gone (TTL over)", "已过期（TTL 到期）"],
  more: ["{} more", "还有 {} 个"], watching: ["{} watching", "{} 个监听"], flight: ["in flight", "未返回"],
  notified: ["notified", "已通知"],
};

let lang = run.lang, step = 0, position = 0, x = 0, now = 0, speed = run.speed, playing = false, due = 0, lit = -1;
let glide = null; // { from, to, since, lasts, target }
const answers = new Map();
const stops = run.steps.slice();
if (run.verdict) stops.push({ ...stops[stops.length - 1], verdict: true });
const last = stops.length - 1;
const total = run.steps.reduce((most, stop) => Math.max(most, stop.n || 0), 0);

const $ = (id) => document.getElementById(id);
const say = (key, ...values) => {
  let n = 0;
  return SAYS[key][lang === "zh" ? 1 : 0].replace(/\{\}/g, () => values[n++]);
};
const text = (both) => (both ? both[lang] : "");
function make(tag, name, words) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (words !== undefined) element.textContent = words;
  return element;
}
/** Words with `code` between backticks. */
function prose(words, tag = "p") {
  const element = make(tag);
  words.split("`").forEach((part, n) => { if (part) element.append(n % 2 ? make("code", "", part) : part); });
  return element;
}
const colour = (element, client) => {
  element.style.setProperty("--c", client === null || client === undefined ? "var(--chrome)" : `var(--c${client % 8})`);
  return element;
};
function when(micros) {
  if (micros <= 0) return "0";
  if (micros < 10000) return `${(micros / 1000).toFixed(2)}ms`;
  if (micros < 1e6) return `${Math.floor(micros / 1000)}ms`;
  if (micros < 6e7) return `${(Math.floor(micros / 1000) / 1000).toFixed(3)}s`;
  const tenths = Math.floor(micros / 1e5);
  return `${Math.floor(tenths / 600)}m${String(Math.floor(tenths / 10) % 60).padStart(2, "0")}.${tenths % 10}s`;
}

// What appears with an event: shown while the event is among the first `position`.
let parts = [], shown = 0;
const appears = (event, element) => { element.hidden = true; parts.push([event, element]); return element; };
function reveal() {
  while (shown < parts.length && parts[shown][0] < position) parts[shown++][1].hidden = false;
  while (shown > 0 && parts[shown - 1][0] >= position) parts[--shown][1].hidden = true;
}

// The timeline is built once; a moment is a clip and what appears.
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
    if (bar.kind !== "holding") continue;
    for (const clash of run.clashes.filter((clash) => clash.lock === bar.lock)) {
      const from = Math.max(bar.a, clash.a), to = Math.min(bar.b ?? width, clash.b ?? width);
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
    return beliefs.some((bar) => bar.kind === "holding");
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
        says.append(appears(entry.r, make("span", `reply ${entry.kind}`, entry.reply + (many && " …"))));
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
  const locks = new Map();
  for (const data of [...run.lanes, ...run.bands.flatMap((band) => band.sample)]) {
    for (const bar of data.bars) {
      if (bar.kind === "holding" && bar.e < position && (bar.end === null || bar.end >= position)) {
        locks.set(bar.lock, (locks.get(bar.lock) || 0) + 1);
      }
    }
  }
  const most = Math.max(0, ...locks.values()), alarm = $("alarm");
  alarm.hidden = most < 2;
  const words = most < 2 ? "" : say("clash", most);
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
/** What is told at a stop: words, a question, a decision, the verdict. */
function drawStory() {
  const stop = stops[step], title = $("story").querySelector("h2"), box = $("story").querySelector("div");
  box.replaceChildren();
  box.className = stop.verdict ? "verdict" : "";
  const told = run.story.filter((entry) => entry.e < stop.p).pop();
  if (stop.verdict) {
    title.textContent = say("verdict");
    box.append(...verdict());
  } else if (!told) {
    title.textContent = say("intro");
    box.append(prose(text(run.intro)));
  } else if (told.asks) {
    title.textContent = say("question");
    box.append(prose(text(told.asks)), choices(told));
  } else if (told.right) {
    title.textContent = say("question");
    box.append(...decision(told));
  } else {
    title.textContent = say("story");
    box.append(prose(text(told.says)));
  }
}
function choices(told) {
  const list = make("ol", "choices");
  told.choices.forEach((choice, n) => {
    const item = make("li"), button = prose(`${n + 1}. ${text(choice.says)}`, "button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(answers.get(told.item) === n));
    button.addEventListener("click", () => {
      answers.set(told.item, n);
      drawStory();
      $("story").querySelectorAll(".choices button")[n].focus();
    });
    item.append(button);
    list.append(item);
  });
  return list;
}
function decision(told) {
  const asked = run.story.filter((entry) => entry.asks && entry.item === told.item && entry.e < told.e).pop();
  if (!asked) return [];
  const happened = told.right.map((n) => text(asked.choices[n].says)).join(" / "), chosen = answers.get(told.item);
  const parts = [prose(text(asked.asks))], words = prose("");
  parts.push(words);
  if (chosen === undefined) words.replaceWith(parts[1] = prose(say("happened", happened)));
  else if (told.right.includes(chosen)) {
    parts[1] = prose(`✓ ${say("right", happened)}`);
    parts[1].className = "right";
  } else {
    parts[1] = prose(`✗ ${say("wrong", text(asked.choices[chosen].says), happened)}`);
    parts[1].className = "wrong";
    if (asked.choices[chosen].why) parts.push(prose(text(asked.choices[chosen].why)));
  }
  return parts;
}
function verdict() {
  const parts = [make("p", `outcome ${run.verdict.outcome}`, `${run.verdict.outcome === "not_shown" ? "✗" : "✓"} ${text(run.verdict.says)}`)];
  for (const claim of run.verdict.claims) {
    const line = make("div", claim.holds ? "claim" : "claim fails");
    const expected = text(claim.expected), observed = text(claim.observed);
    const same = claim.holds && expected === observed ? "" : `${say("expected")} ${expected} · `;
    const figures = make("span", "figures", `${same}${say("observed")} ${observed}`);
    line.append(`${claim.holds ? "✓" : "✗"} `);
    if (claim.says) line.append(text(claim.says), make("br"));
    line.append(make("b", "", claim.claim), " ", figures);
    const list = make("ul", "evidence");
    for (const [event, words] of claim.evidence) {
      const item = make("li"), button = make("button", "", text(words));
      button.type = "button";
      button.addEventListener("click", () => { pause(); light(event); go(stops.findIndex((stop) => stop.p > event)); });
      item.append(button);
      list.append(item);
    }
    if (claim.more) list.append(make("li", "", say("more", claim.more)));
    if (list.childElementCount) line.append(list);
    parts.push(line);
  }
  if (run.takeaway && run.verdict.outcome !== "not_shown") parts.push(prose(`${say("takeaway")}: ${text(run.takeaway)}`));
  return parts;
}
/** Marks an event wherever it is drawn. */
function light(event) {
  lit = event;
  for (const element of document.querySelectorAll(".lit")) element.classList.remove("lit");
  for (const element of document.querySelectorAll(`[data-event="${lit}"], [data-reply="${lit}"]`)) element.classList.add("lit");
}
let serversKey = "";
function drawServers() {
  const box = $("servers").querySelector("div"), names = [...new Set(run.truths.map((truth) => truth.server))];
  const seen = names.map((name) => run.states.filter((state) => state.server === name && state.e < position));
  const ttl = (row) => (row.ends === undefined || row.ends === null ? null : row.ends - now);
  const key = JSON.stringify([lang, seen.map((states) => states.length), seen.map((states) => (states[states.length - 1]?.rows || []).map((row) => {
    const left = ttl(row);
    return left === null ? 0 : Math.ceil(Math.max(0, left) / 1e5);
  }))]);
  if (key === serversKey) return;
  serversKey = key;
  box.replaceChildren();
  seen.forEach((states, n) => {
    const state = states[states.length - 1], before = states[states.length - 2];
    if (!state) {
      if (names.length === 1) box.append(make("p", "of", say("nothing")));
      return;
    }
    const role = state.role ? ` · ${state.role}` : "";
    box.append(make("p", "of", `${names[n]} · ${state.product} ${state.version}${role}`));
    if (state.died) { box.append(make("p", "forever", `✝ ${say("died")}`)); return; }
    if (!state.rows.length) { box.append(make("p", "of", say("empty"))); return; }
    const table = make("table");
    for (const entry of state.rows) {
      const old = before && before.rows.find((row) => row.name === entry.name);
      const line = make("tr", !old || JSON.stringify(old) !== JSON.stringify(entry) ? "new" : "");
      line.append(make("td", "", entry.name), make("td", "", entry.value), more(entry, ttl(entry)));
      table.append(line);
    }
    box.append(table);
    if (state.more) box.append(make("p", "of", say("more", state.more)));
  });
}
function more(entry, left) {
  if ("watchers" in entry) {
    const words = [entry.owner, entry.watchers ? say("watching", entry.watchers) : null].filter(Boolean);
    return make("td", "", words.join(" · "));
  }
  if (left === null) return make("td", "forever", say("forever"));
  return left > 0 ? make("td", "", `TTL ${(Math.ceil(left / 1e5) / 10).toFixed(1)}s`) : make("td", "gone", say("gone"));
}

/** The time that a place on the axis stands for. */
function timeAt(column) {
  let low = 0, high = run.ticks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (run.ticks[middle][0] <= column) low = middle + 1; else high = middle;
  }
  const before = run.ticks[low - 1], after = run.ticks[low];
  if (!before) return [0, 0];
  if (!after) return [before[1], before[2]];
  const share = (column - before[0]) / (after[0] - before[0]);
  return [before[1], before[2] + (after[2] - before[2]) * share];
}
/** Goes to a stop, at once. */
function go(index) {
  glide = null;
  step = Math.min(last, Math.max(0, index));
  const stop = stops[step];
  position = stop.p;
  x = stop.x;
  now = stop.at;
  settle();
}
function settle() {
  draw();
  drawStory();
  const stop = stops[step], scrub = $("scrub"), words = say("step", stop.n ?? "–", total);
  $("step").textContent = words;
  scrub.value = step;
  scrub.setAttribute("aria-valuetext", `${stop.verdict ? say("verdict") : words}, ${when(stop.at)}`);
  const before = step ? stops[step - 1].p : 0;
  for (const item of $("wire").querySelectorAll("li")) {
    item.classList.toggle("now", !stop.verdict && Number(item.dataset.event) >= before && Number(item.dataset.event) < stop.p);
  }
  $("home").disabled = $("back").disabled = step === 0;
  $("forward").disabled = $("end").disabled = step === last;
  document.body.dataset.step = step;
}
/** Goes to the next stop, in motion where time passes. */
function forward() {
  if (glide) { go(glide.target); return; }
  if (step === last) return;
  const from = stops[step], to = stops[step + 1], lasts = Math.min(3000, Math.max(350, (to.at - from.at) / 1000)) / speed;
  if (STILL.matches || to.x - from.x < 2) { go(step + 1); return; }
  glide = { from: x, to: to.x, since: performance.now(), lasts, target: step + 1 };
  requestAnimationFrame(frame);
}
function frame(time) {
  if (!glide) return;
  const share = Math.min(1, Math.max(0, (time - glide.since) / glide.lasts));
  if (share >= 1) {
    go(glide.target);
    if (playing) dwell();
    return;
  }
  const eased = share * share * (3 - 2 * share);
  x = glide.from + (glide.to - glide.from) * eased;
  const [over, at] = timeAt(x);
  position = Math.min(stops[glide.target].p, Math.max(stops[step].p, over));
  now = Math.min(stops[glide.target].at, Math.max(stops[step].at, at));
  draw();
  requestAnimationFrame(frame);
}
/** How long a stop is looked at while playing: as long as its words take to read. */
function dwell() {
  clearTimeout(due);
  const stop = stops[step], before = step ? stops[step - 1].p : 0;
  if (step === last) { pause(); return; }
  const told = run.story.filter((entry) => entry.e >= before && entry.e < stop.p).pop();
  if (told && told.asks && !answers.has(told.item)) { pause(); return; }
  const words = step === 0 ? text(run.intro) : told && told.says ? text(told.says) : "";
  const reading = words ? Math.min(20, Math.max(1.5, 1 + words.length / (lang === "zh" ? 7 : 18))) : told ? 5 : 0.8;
  due = setTimeout(() => { forward(); if (!glide) dwell(); }, (reading * 1000) / speed);
}
function play() {
  if (step === last) go(0);
  playing = true;
  buttons();
  due = setTimeout(() => { forward(); if (!glide) dwell(); }, 0);
}
function pause() {
  clearTimeout(due);
  playing = false;
  if (glide) go(glide.target);
  buttons();
}
function buttons() {
  const names = { home: "⇤", back: "←", forward: "→", end: "⇥", play: playing ? "❚❚" : "▶" };
  for (const [id, glyph] of Object.entries(names)) {
    const words = say(id === "play" && playing ? "pause" : id);
    $(id).textContent = `${glyph}\uFE0E`;
    $(id).title = words;
    $(id).setAttribute("aria-label", words);
  }
}
const DO = {
  home: () => { pause(); go(0); }, end: () => { pause(); go(last); },
  back: () => { pause(); go(step - 1); }, forward: () => { pause(); forward(); },
  play: () => (playing ? pause() : play()),
};
function speak() {
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
  $("title").textContent = text(run.title);
  $("variant").textContent = text(run.variant);
  document.title = `${text(run.title)} · ${text(run.variant)}`;
  $("source").textContent = say(run.clock);
  $("language").textContent = lang === "zh" ? "English" : "中文";
  $("language").lang = lang === "zh" ? "en" : "zh-CN";
  for (const [id, key] of [["timeline", "lanes"], ["servers", "servers"], ["wire", "wire"]]) {
    $(id).querySelector("h2").textContent = say(key);
    $(id).setAttribute("aria-label", say(key));
  }
  $("scroll").setAttribute("aria-label", say("lanes"));
  $("wire").querySelector("ol").setAttribute("aria-label", say("wire"));
  $("scrub").setAttribute("aria-label", say("scrub"));
  document.querySelector(".speed span").textContent = say("speed");
  retold.forEach((tell) => tell());
  buttons();
  settle();
}
function turn() {
  lang = lang === "zh" ? "en" : "zh";
  speak();
}

build();
for (const id of Object.keys(DO)) $(id).addEventListener("click", DO[id]);
$("language").addEventListener("click", turn);
$("speed").addEventListener("change", (event) => { speed = Number(event.target.value); });
$("scrub").addEventListener("input", (event) => { pause(); go(Number(event.target.value)); });
$("chart").addEventListener("click", (event) => {
  const column = (event.clientX - $("chart").getBoundingClientRect().left - offset()) / COLUMN;
  if (event.target.closest(".label")) return;
  const far = run.steps.map((stop) => Math.abs(stop.x - column));
  const near = far.indexOf(Math.min(...far));
  pause();
  // Of several stops at one place, the last one shows it all.
  go(run.steps.findLastIndex((stop) => stop.x === run.steps[near].x));
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.tagName === "SELECT") return;
  const on = event.target.tagName === "BUTTON";
  const keys = { ArrowLeft: "back", ArrowRight: "forward", Home: "home", End: "end", " ": on ? null : "play" };
  if (keys[event.key]) {
    event.preventDefault();
    DO[keys[event.key]]();
  } else if (event.key === "l" || event.key === "L") turn();
  else if (/^[1-9]$/.test(event.key)) $("story").querySelectorAll(".choices button")[Number(event.key) - 1]?.click();
});
addEventListener("resize", () => draw());
/** `#step=7` and `#step=end` name a moment. */
function fragment() {
  const named = /^#step=(\d+)$/.exec(location.hash);
  if (location.hash === "#step=end") go(last);
  else if (named) go(run.steps.findLastIndex((stop) => stop.n !== null && stop.n <= Number(named[1])));
}
addEventListener("hashchange", fragment);
go(0);
speak();
fragment();
})();
