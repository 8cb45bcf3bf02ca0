// The story at a stop, the wire log, and the contents of the servers at that time.
const answers = new Map();
let lit = -1;
/** Draws the story at a stop: text, a question, a decision, the verdict. */
function drawStory() {
  tellStory();
  const box = $("story").querySelector("div");
  box.scrollTop = 0;
  hasMore();
  // In an embedded page the chart takes the height that the text leaves.
  if (EMBED) fit();
}
/** Whether there are words below those in sight. */
function hasMore() {
  const box = $("story").querySelector("div");
  $("story").classList.toggle("more", box.scrollTop + box.clientHeight < box.scrollHeight - 4);
}
function tellStory() {
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
  if (news()) box.append(line("news", news()));
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
  const votes = run.votes && run.votes[told.item];
  if (votes && votes.some((count) => count > 0)) parts.push(bars(asked.choices.map((choice) => choice.says), votes, told.right, chosen));
  if (told.why) parts.push(prose(text(told.why)));
  return parts;
}
/** The failure in a sentence, the outcome, the takeaway; the evidence can be opened. */
function verdict() {
  const { outcome, claims, failure } = run.verdict, parts = [];
  if (failure) parts.push(line("news", text(failure)));
  const amounts = make("p", `outcome ${outcome}`, `${outcome === "prevented" ? "✓" : "✗"} ${text(run.verdict.says)}`);
  if (outcome !== "not_shown") amounts.append(make("span", "count", `${claims.filter((claim) => claim.holds).length}/${claims.length} ✓`));
  parts.push(amounts);
  if (run.takeaway && outcome !== "not_shown") parts.push(prose(`${say("takeaway")}${lang === "zh" ? "：" : ": "}${text(run.takeaway)}`));
  for (const claim of claims) {
    const line = make("details", claim.holds ? "claim" : "claim fails"), summary = make("summary", "", claim.holds ? "✓ " : "✗ ");
    line.open = !claim.holds;
    const expression = make("b", "", claim.claim);
    summary.append(...(claim.says ? prose(text(claim.says)).childNodes : [expression]));
    line.append(summary);
    const expected = text(claim.expected), observed = text(claim.observed);
    const same = claim.holds && expected === observed ? "" : `${say("expected")} ${expected} · `;
    if (claim.says) line.append(expression, " ");
    line.append(make("span", "figures", `${same}${say("observed")} ${observed}`));
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
  return parts;
}
/** Highlights an event wherever it is drawn. */
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
    const role = state.role ? ` · ${text(state.role.says)}` : "";
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
  return left > 0 ? make("td", "", `TTL ${left < 1e6 ? `${Math.ceil(left / 1e3)}ms` : `${Math.ceil(left / 1e5) / 10}s`}`) : make("td", "gone", say("gone"));
}
function wire() {
  const rows = [...run.wire.map((entry) => [entry.e, entry]), ...run.faults.map((entry) => [entry.e, { ...entry, fault: true }])];
  const sender = (entry) => (entry.says && entry.who ? senderOf(entry).length + 2 : 0);
  $("wire").style.setProperty("--who", `${Math.min(18, Math.max(4, ...run.wire.map(sender)))}ch`);
  rows.sort((one, other) => one[0] - other[0]).forEach(([event, entry]) => $("wire").querySelector("ol").append(wireRow(event, entry)));
}
/** The sender, with the server if there are several. */
function senderOf(entry) {
  const several = new Set(run.truths.map((truth) => truth.server)).size > 1 && entry.server !== "local";
  const server = several ? `${entry.kind === "notified" ? "←" : "→"}${entry.server}` : "";
  return `${entry.who}${entry.count > 1 ? ` ×${entry.count}` : ""}${server}`;
}
function wireRow(event, entry) {
  const item = make("li"), says = make("span", "says");
  item.dataset.event = event;
  if (entry.r !== undefined) item.dataset.reply = entry.r;
  item.append(make("time", "", when(entry.at)));
  if (entry.fault) {
    item.className = "fault";
    item.append(make("span", "who", entry.glyph), says);
    retold.push(() => { says.textContent = text(entry.says).replace(/^\S+ /, ""); });
  } else if (entry.kind === "role") {
    item.className = `role ${entry.tone}`;
    item.append(make("span", "who"), says);
    const about = () => entry.server ? `${entry.server}${lang === "zh" ? "：" : ": "}` : "";
    retold.push(() => { says.textContent = about() + text(entry.says); });
  } else {
    item.append(colour(make("span", "who", `${glyphOf(entry.client)} ${senderOf(entry)}`), entry.client), says);
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
drawn.push(drawServers, () => {
  const list = $("wire").querySelector("ol");
  list.scrollTop = list.scrollHeight;
});
