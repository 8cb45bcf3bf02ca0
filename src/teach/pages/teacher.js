// The teacher's page: notes, the next step, the votes, and the remote control.
const base = location.pathname.replace(/\/$/, "");
let seen = null, tally = {};

function draw() {
  if (!seen) return;
  const teacher = seen.teacher || {}, poll = seen.poll, decided = poll && poll.decided;
  write($("title"), [text(seen.title), text(seen.variant)].filter(Boolean).join(" · ") || "Lockstep");
  document.title = `${text(seen.title) || "Lockstep"}`;
  write($("step"), stepWords(seen));
  write($("joined"), say("joined", tally.joined || 0));
  const both = seen.locks.filter((lock) => lock.broken).map((lock) => lockState(lock).textContent);
  write($("alarm"), seen.broken ? `${brokenWords(seen.broken)}: ${text(seen.broken.says)}` : both.join(" · "));
  $("poll").hidden = !poll;
  countDown(poll, seen.left);
  if (poll) {
    write($("kind"), poll.kind === "move" ? asked(poll) : say("predicts"));
    show($("asks"), poll.asks, () => prose(text(poll.asks)));
    write($("count"), typeof tally.voted === "number" ? say("voted", tally.voted, Math.max(tally.joined, tally.voted)) : "");
    show($("bars"), [poll.id, decided, tally.votes], () => bars(poll.choices, tally.votes || [], decided ? decided.right : []));
    show($("why"), decided, () => (decided ? [happened(poll), text(decided.why)].filter(Boolean).map((words) => prose(words)) : []));
  }
  section("now", [text(seen.outcome), text(seen.says)], text(teacher.note));
  section("next", [text(teacher.next)], text(teacher.next_note));
  section("notes", [text(teacher.notes)], "");
  const joining = seen.joining;
  $("joining").hidden = !joining;
  if (joining) {
    $("qr").hidden = !joining.qr;
    if (joining.qr && $("qr").getAttribute("src") !== joining.qr) $("qr").src = joining.qr;
    $("qr").alt = joining.url;
    write($("address"), joining.url);
    write($("code"), say("codeis", joining.code));
  }
  const voting = votable(poll) && poll.kind === "move";
  label("back", "←", "backwards");
  label("play", "▶", "plays");
  label("vote", "✓", voting ? "endvote" : "vote");
  label("forward", "→", votable(poll) && poll.kind === "prediction" ? "ends" : "forwards");
  $("vote").disabled = !voting && !teacher.can_vote;
  clock();
}
function section(id, told, note) {
  const parts = told.filter(Boolean);
  $(id).hidden = !parts.length && !note;
  show($(id).querySelector("div"), [parts, note], () => {
    const shown = parts.map((words) => prose(words));
    if (note) shown.push(line("note", say("note", note)));
    return shown;
  });
}
function label(id, glyph, key) {
  show($(id), key, () => {
    const sign = make("span", "", `${glyph}\uFE0E`);
    sign.setAttribute("aria-hidden", "true");
    return [sign, make("span", "", say(key))];
  });
}
/** Shows for how long the lesson has been open. */
function clock() {
  const began = seen && seen.teacher && seen.teacher.began;
  const seconds = began ? Math.max(0, Math.floor(Date.now() / 1000 - began)) : 0;
  write($("began"), `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`);
}
function ask(what) {
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ do: what }) };
  fetch(`${base}/do`, request).then((response) => response.status, () => 0).then((status) => {
    write($("said"), status === 204 || status === 200 ? "" : say(status === 429 || status === 503 ? "busy" : "unheard"));
  });
}

const DO = { back: "back", play: "play", vote: "vote", forward: "next" };
for (const id of Object.keys(DO)) $(id).addEventListener("click", () => ask(DO[id]));
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const keys = { ArrowLeft: "back", ArrowRight: "forward", v: "vote", V: "vote", " ": event.target.tagName === "BUTTON" ? "" : "play" };
  const id = keys[event.key];
  if (id && !$(id).disabled) {
    event.preventDefault();
    ask(DO[id]);
  } else if (event.key === "l" || event.key === "L") turn();
});
setInterval(clock, 1000);
const tell = listen(`${base}/events`, {
  class(data) {
    seen = data;
    tally = data.tally || {};
    draw();
  },
});
const turn = speaks(() => { draw(); tell(); });
