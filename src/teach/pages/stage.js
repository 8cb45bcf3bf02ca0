// The stage: what the terminal shows, for a second projector. It follows the terminal's playhead and takes no input.
let seen = null, tally = {}, drawing = false, verdict = null;

/** Draws the run as far as it goes. Everything is redrawn, because after stepping back it is another run. */
function drawRun(data) {
  const shown = data && data.data;
  drawing = Boolean(shown);
  verdict = shown && shown.verdict;
  if (!shown) return;
  load(shown);
  const stop = stops[last];
  position = stop.p;
  x = stop.x;
  now = stop.at;
  whole = Boolean(verdict);
}
/** Arranges the page: names have 28 px or more on 1080 lines; a long run is scrolled, and shown whole at its end. */
function arrange() {
  // The drawing is hidden when its lesson is closed.
  const open = drawing && Boolean(seen && seen.title);
  $("timeline").hidden = $("clock").hidden = !open;
  $("alarm").hidden = $("alarm").hidden || !open;
  tellAll();
  if (!open) return;
  const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16, zoom = 2.2 * unit;
  const box = $("scroll"), chart = $("chart");
  $("timeline").style.zoom = zoom;
  // Drawn first, because the banner takes part of the room.
  draw();
  chart.classList.remove("dense");
  chart.style.setProperty("--label", "148px");
  const names = [...chart.querySelectorAll(".label > span")].map((name) => name.offsetWidth);
  chart.style.setProperty("--label", `${Math.min(260, Math.max(70, ...names) + 22)}px`);
  // Rows grow to fill the room, and become dense if there is too little.
  const rows = Math.max(1, chart.querySelectorAll(".row.lane, .row.truth").length);
  chart.style.setProperty("--more", "0px");
  chart.classList.toggle("dense", chart.offsetHeight > box.clientHeight + 1);
  const more = (box.clientHeight - chart.offsetHeight) / rows;
  chart.style.setProperty("--more", `${Math.max(0, Math.min(40, more))}px`);
  draw();
  // If not all rows fit, the one with the newest event is made visible.
  const marks = [...chart.querySelectorAll(".mark:not([hidden])")].sort((one, other) => one.dataset.event - other.dataset.event);
  const row = marks.length ? marks[marks.length - 1].parentElement.parentElement : null;
  box.scrollTop = row && chart.offsetHeight > box.clientHeight + 1 ? row.offsetTop - box.clientHeight / 2 : 0;
}

/** Writes the text below the chart, as large as it fits. */
function tellAll() {
  if (!seen) return;
  const poll = seen.poll, decided = poll && poll.decided, votes = tally.votes;
  write($("title"), text(seen.title) || "Lockstep");
  write($("variant"), text(seen.variant));
  document.title = `${text(seen.title) || "Lockstep"}`;
  write($("step"), stepWords(seen));
  const voting = votable(poll) && typeof tally.voted === "number";
  write($("room"), tally.joined ? say("joined", tally.joined) : "");
  const joining = seen.joining, url = joining && joining.url.replace(/^https?:\/\//, "").replace(new RegExp(`/${joining.code}$`), "");
  write($("where"), joining && seen.title ? say("address", url, joining.code) : "");
  const sentence = drawing && !seen.broken ? news() || text(seen.harm) : "";
  show($("told"), [seen.title, seen.says, poll, seen.broken, seen.outcome, joining, votes, voting, verdict && verdict.outcome, sentence], () => {
    if (!seen.title) return joining ? invitation(url, joining) : [];
    const parts = [];
    if (seen.broken) parts.push(line("alarm", brokenWords(seen.broken)), prose(text(seen.broken.says)));
    if (votable(poll)) parts.push(make("h2", "", asked(poll)), line("asks", text(poll.asks)), choices(poll));
    else if (decided) parts.push(...answer(poll, votes));
    else if (seen.outcome && !seen.broken) parts.push(...ended());
    else if (!seen.broken) parts.push(prose(text(seen.says)));
    if (sentence) parts.push(line("news", sentence));
    if (voting) parts.push(count(poll));
    return parts;
  });
  const counted = $("told").querySelector(".voted");
  if (counted && voting) write(counted, say("voted", tally.voted, Math.max(tally.joined, tally.voted)));
  countDown(poll, seen.left);
  // The largest size at which all of it is visible.
  const told = $("told");
  let size = 2.5;
  do told.style.fontSize = `${size}rem`;
  while (told.scrollHeight > told.clientHeight + 1 && (size -= 0.1) > 1);
}
function choices(poll) {
  const list = make("ol", "choices");
  for (const choice of poll.choices) list.append(prose(text(choice), "li"));
  return list;
}
function count(poll) {
  const row = make("div", "counts");
  if (poll.lasts) row.append(make("p", "count"));
  row.append(make("p", "voted"));
  return row;
}
function answer(poll, votes) {
  const parts = [line("asks", text(poll.asks))], what = happened(poll);
  if (votes && votes.some(Boolean)) {
    const shown = bars(poll.choices, votes, poll.decided.right);
    if (poll.choices.length > 4) shown.classList.add("many");
    parts.push(shown);
  }
  else if (what) parts.push(line("good", what));
  if (poll.decided.why) parts.push(prose(text(poll.decided.why)));
  return parts;
}
function ended() {
  // The outcome stands out from the takeaway.
  if (!verdict) return [prose(text(seen.outcome))];
  const parts = [line(verdict.outcome === "prevented" ? "good" : "bad", text(verdict.says))];
  if (run.takeaway) parts.push(prose(text(run.takeaway)));
  return parts;
}
function invitation(url, joining) {
  const box = make("div", "invitation"), words = make("div");
  words.append(make("h2", "", say("joining")), make("p", "url", url), make("p", "code", joining.code));
  if (joining.qr) {
    const picture = make("img");
    picture.src = joining.qr;
    picture.alt = joining.url;
    box.append(picture);
  }
  box.append(words);
  return box;
}

let due = 0;
/** Draws at most once per frame, and never while the stage is hidden. */
function soon() {
  cancelAnimationFrame(due);
  due = requestAnimationFrame(arrange);
}
const tell = listen("/stage/events", {
  class(data) {
    seen = data;
    tally = data.tally || {};
    soon();
  },
  run(data) {
    drawRun(data);
    soon();
  },
});
addEventListener("resize", soon);
speaks(() => { retold.forEach((again) => again()); soon(); tell(); });
