// Navigation through the run: steps, playing, mouse and keyboard.
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
let speed = 1, playing = false, due = 0;
let glide = null; // { from, to, since, lasts, target }
// The last stop ever shown: the scrubber marks nothing beyond it.
let reached = 0;
/** How much longer a violation is shown, in seconds. */
const HOLD = 1.5;
/** The time at a position on the axis. */
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
/** Goes to a stop without animation. */
function go(index) {
  glide = null;
  fly(null);
  step = Math.min(last, Math.max(0, index));
  const stop = stops[step];
  position = stop.p;
  x = stop.x;
  now = stop.at;
  whole = Boolean(stop.verdict);
  settle();
}
function settle() {
  // These may change how much room there is, so they come first.
  drawStory();
  draw();
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
  reached = Math.max(reached, step);
  markStops();
  address();
}
/** Puts the step into the address, so that it can be shared. A frame without an address of its own is skipped. */
function address() {
  const place = step === 0 ? "" : step === last ? "step=end" : `step=${stops[step].n ?? step}`;
  const hash = [EMBED ? "embed" : "", place].filter(Boolean).join("&");
  try { history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search); } catch { /* the address stays */ }
}
/** Goes to the next stop, animated if time passes. */
function forward() {
  if (glide) { go(glide.target); return; }
  if (step === last) return;
  const from = stops[step], to = stops[step + 1], lasts = Math.min(3000, Math.max(350, (to.at - from.at) / 1000)) / speed;
  const sends = run.wire.some((entry) => entry.kind !== "role" && [entry.e, entry.r].some((event) => event >= from.p && event < to.p));
  whole = false;
  if (STILL.matches || (to.x - from.x < 2 && !sends)) { go(step + 1); return; }
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
  fly(share, stops[step].p, stops[glide.target].p);
  requestAnimationFrame(frame);
}
/** Schedules the next stop while playing: after the time to read this one. */
function dwell() {
  clearTimeout(due);
  const stop = stops[step], before = step ? stops[step - 1].p : 0;
  if (step === last) { pause(); return; }
  const told = run.story.filter((entry) => entry.e >= before && entry.e < stop.p).pop();
  if (told && told.asks && !answers.has(told.item)) { pause(); return; }
  const words = step === 0 ? text(run.intro) : told && told.says ? text(told.says) : "";
  const reading = words ? Math.min(20, Math.max(1.5, 1 + words.length / (lang === "zh" ? 7 : 18))) : told ? 5 : 0.8;
  const holds = run.clashes.some((clash) => clash.e >= before && clash.e < stop.p) ? HOLD * 1000 : 0;
  due = setTimeout(() => { forward(); if (!glide) dwell(); }, (reading * 1000) / speed + holds);
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
/** Marks the scrubber, as far as the run was shown: questions, faults, and stretches in which something was wrong. */
function markStops() {
  const box = $("marks"), share = (n) => (n / Math.max(1, last)) * 100;
  box.replaceChildren();
  const after = (event) => stops.findIndex((stop) => stop.p > event);
  for (const clash of run.clashes) {
    const from = after(clash.e), over = clash.end === null ? -1 : after(clash.end), to = over < 0 ? last : over;
    if (from < 0 || from > reached) continue;
    const stretch = make("i");
    stretch.style.left = `${share(Math.max(0, from - 0.5))}%`;
    stretch.style.right = `${100 - share(Math.min(to, reached))}%`;
    box.append(stretch);
  }
  stops.slice(0, reached + 1).forEach((stop, n) => {
    const before = n ? stops[n - 1].p : 0, within = (entry) => entry.e >= before && entry.e < stop.p && !stop.verdict;
    const fault = run.faults.find(within);
    const mark = run.clashes.some(within) ? ["v", "╋"] : fault ? ["f", fault.glyph]
      : stop.kind === "question" && !stop.verdict ? ["q", "?"] : null;
    if (!mark) return;
    const element = make("span", ...mark);
    element.style.left = `${share(n)}%`;
    box.append(element);
  });
}
/** Sets up the range of the scrubber, and the speeds. */
function controls() {
  $("scrub").max = last;
  for (const factor of new Set([0.25, 0.5, 1, 2, 4, 10, speed].sort((a, b) => a - b))) {
    const option = make("option", "", `${factor}×`);
    option.value = factor;
    option.selected = factor === speed;
    $("speed").append(option);
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

document.body.classList.toggle("embed", EMBED);
// A scrolling caption must be reachable by the keyboard.
if (EMBED) $("story").querySelector("div").tabIndex = 0;
load(JSON.parse($("run").textContent), wire);
lang = run.lang;
speed = run.speed;
controls();
for (const id of Object.keys(DO)) $(id).addEventListener("click", DO[id]);
$("language").addEventListener("click", turn);
$("speed").addEventListener("change", (event) => { speed = Number(event.target.value); });
$("scrub").addEventListener("input", (event) => { pause(); go(Number(event.target.value)); });
$("chart").addEventListener("click", (event) => {
  const zoom = Number($("chart").style.zoom) || 1;
  const place = (event.clientX - $("chart").getBoundingClientRect().left) / zoom - offset();
  if (event.target.closest(".label")) return;
  const far = run.steps.map((stop) => Math.abs(px(stop.x) - place));
  const near = far.indexOf(Math.min(...far));
  pause();
  // Of several stops at one position, the last one shows everything.
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
addEventListener("resize", () => { fit(); draw(); hasMore(); });
$("story").querySelector("div").addEventListener("scroll", hasMore);
$("scroll").addEventListener("scroll", () => {
  gone = $("scroll").scrollLeft / (Number($("chart").style.zoom) || 1);
  lay();
});
/** Handles `#step=7` and `#step=end`, also after `#embed&`. */
function fragment() {
  const named = /[#&]step=(\d+|end)$/.exec(location.hash);
  if (named?.[1] === "end") go(last);
  else if (named) go(run.steps.findLastIndex((stop) => stop.n !== null && stop.n <= Number(named[1])));
}
addEventListener("hashchange", () => {
  // The layout is chosen when the page is loaded.
  if (/^#embed\b/.test(location.hash) !== EMBED) location.reload();
  else fragment();
});
const named = location.hash;
fit();
go(0);
speak();
if (named) history.replaceState(null, "", named);
fragment();
