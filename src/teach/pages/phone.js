// The page on a phone: the question and its choices, the result, and between questions the state of the story.
const base = location.pathname.replace(/\/$/, "");
let seen = null, tally = {}, mine = null;
// The choice tapped for the poll `about` and not yet known to be counted; at most one request is in progress.
let about = null, wanted = null, sending = false, problem = "";

function draw() {
  if (!seen) return;
  const poll = seen.poll;
  write($("title"), [text(seen.title), text(seen.variant)].filter(Boolean).join(" · ") || "Lockstep");
  document.title = `${text(seen.title) || "Lockstep"}`;
  write($("step"), stepWords(seen));
  $("locks").hidden = !seen.locks.length;
  show($("locks"), seen.locks, () => seen.locks.map((lock) => {
    const item = lockState(lock);
    if (lock.broken) item.append(line("news", overlapWords(lock)));
    return item;
  }));
  $("broken").hidden = !seen.broken && !seen.harm;
  show($("broken"), [seen.broken, seen.harm], () => (seen.broken ? [make("h2", "", brokenWords(seen.broken)), prose(text(seen.broken.says))] : seen.harm ? [prose(text(seen.harm))] : []));
  drawPoll(poll);
  const story = !seen.title ? [["waits", say("waits")]] : [["outcome", text(seen.outcome)], ["", votable(poll) || (poll && poll.decided && poll.kind === "prediction") ? "" : text(seen.says)]];
  show($("story"), story, () => story.filter((part) => part[1]).map((part) => line(part[0], part[1])));
}
function drawPoll(poll) {
  $("poll").hidden = !poll;
  countDown(poll, seen.left);
  if (!poll) return;
  const decided = poll.decided, chosen = wanted === null ? mine : wanted;
  write($("kind"), asked(poll));
  show($("asks"), [poll.id, poll.asks], () => prose(text(poll.asks)));
  $("choices").hidden = Boolean(decided);
  show($("choices"), [poll.id, poll.choices], () => poll.choices.map((choice, n) => {
    const button = prose(text(choice), "button");
    button.type = "button";
    button.prepend(make("b", "", String(n + 1)));
    button.addEventListener("click", () => vote(n));
    return button;
  }));
  [...$("choices").children].forEach((button, n) => {
    button.setAttribute("aria-pressed", String(n === chosen));
    button.disabled = !votable(poll);
  });
  const counted = !decided && mine !== null && wanted === null;
  write($("sent"), problem ? say(problem) : decided ? "" : !votable(poll) ? say("closed") : wanted !== null ? say("sending") : counted ? say("counted") : "");
  write($("count"), decided || typeof tally.voted !== "number" ? "" : say("voted", tally.voted, Math.max(tally.joined, tally.voted)));
  show($("answer"), [poll.id, decided, tally.votes, mine], () => (decided ? answer(poll) : []));
}
function answer(poll) {
  const { right, why, whys } = poll.decided, parts = [], what = happened(poll);
  const predicted = poll.kind === "prediction" && mine !== null && right.length > 0, was = predicted && right.includes(mine);
  if (was) parts.push(line("good", `✓ ${say("right", text(poll.choices[mine]))}`));
  else if (predicted) parts.push(line("wrong", `✗ ${say("wrong", text(poll.choices[mine]), right.map((n) => text(poll.choices[n])).join(" / "))}`));
  else if (what) parts.push(line("good", what));
  if (why) parts.push(prose(text(why)));
  const own = predicted && !was && whys && whys[mine];
  if (own) parts.push(make("h3", "", say("plausible")), prose(text(own)));
  if (tally.votes) parts.push(make("h3", "", say("votes")), bars(poll.choices, tally.votes, right, mine));
  return parts;
}

function vote(choice) {
  problem = "";
  wanted = choice;
  draw();
  send();
}
/** Sends the choice tapped last; choices tapped meanwhile follow. */
function send() {
  const poll = seen && seen.poll;
  if (sending || wanted === null || !poll) return;
  const choice = wanted, id = poll.id;
  sending = true;
  const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ poll: id, choice }) };
  fetch(`${base}/vote`, request).then((response) => response.status, () => 0).then((status) => {
    sending = false;
    if (!seen.poll || seen.poll.id !== id) { send(); return; }
    if (status === 200) {
      mine = choice;
      problem = "";
      if (wanted === choice) wanted = null;
    } else if (status === 0 || status >= 500) {
      // The choice is kept, and sent after the next message from the class.
      problem = "unsent";
      draw();
      return;
    } else {
      wanted = null;
      problem = status === 409 ? "late" : status === 429 ? "slower" : "refused";
    }
    draw();
    send();
  });
}

const tell = listen(`${base}/events`, {
  class(data) {
    const poll = data.poll;
    if (poll && poll.id !== about) {
      about = poll.id;
      wanted = null;
      problem = "";
    } else if (poll && !votable(poll) && wanted !== null && !sending) {
      wanted = null;
      problem = "late";
    }
    seen = data;
    tally = data.tally || {};
    if (!sending) mine = typeof data.mine === "number" ? data.mine : null;
    if (problem === "unsent") problem = "";
    draw();
    send();
  },
});
speaks(() => { draw(); tell(); });
