// The row of a crowd on the timeline: how many of its members wait, what they did together, and each of them as a dot.
function band(data) {
  const { element, label, track } = row("band", `${glyphOf(data.client)} ${data.name} ×${data.size}`, data.client);
  data.levels.forEach(([from, event, waiting, holding], n) => {
    const next = data.levels[n + 1];
    const level = colour(make("div", holding > 1 ? "level both" : "level"), data.client);
    place(level, from, next ? next[0] : null, next ? next[1] : null);
    // Right of the playhead there are the dots.
    spots[spots.length - 1].head = true;
    level.style.height = `calc(var(--band) * ${Math.max(waiting, holding) / data.size})`;
    track.append(appears(event, level));
  });
  marks(track, data.runs, data.client, (mark, entry) => {
    mark.dataset.event = entry.e;
    const count = entry.count > 1 ? ` ×${entry.count}` : "";
    mark.append(telling(make("span"), () => [`${entry.notified ? "↯ " : ""}${text(entry.what)}`, count]));
    mark.classList.toggle("told", entry.notified);
    mark.classList.toggle("herd", entry.notified && entry.count > 1);
    return 18 + 7.9 * (4 + count.length);
  });
  dots(track, data);
  labels.push(() => {
    const level = data.levels.filter((entry) => entry[1] < position).pop() || [0, 0, 0, 0];
    const notified = data.notified.filter(([event, dot]) => event < position && dot >= data.outside.length).length;
    const counts = [`${say("waiting")} ${level[2]}`, `${say("holding")} ${level[3]}`, `${say("notified")} ${notified}`];
    label.lastChild.textContent = counts.join("\n");
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", `${data.name}: ${counts.join(", ")}`);
    return false;
  });
  // An article has no room for single members.
  if (!EMBED) data.sample.forEach(lane);
}
/** Right of the playhead, everybody who competes for the lock as a dot. Bright are those that hold it, and those
 *  notified in the last step that sent anything. */
function dots(track, data) {
  const box = colour(make("div", "dots"), data.client), outside = data.outside.length;
  box.setAttribute("aria-hidden", "true");
  for (let n = 0; n < outside + data.size; n++) {
    const dot = make("i");
    box.append(n < outside ? appears(data.outside[n][1], colour(dot, data.outside[n][0])) : dot);
  }
  track.append(box);
  let known = "";
  moved.push(() => {
    const left = px(x) + 8, room = edge - left - 8, high = box.offsetHeight, all = box.childElementCount;
    let size = 14;
    while (size > 1.5 && Math.floor(room / size) * Math.floor(high / size) < all) size -= 0.5;
    box.style.left = `${left}px`;
    box.style.width = `${room}px`;
    box.style.setProperty("--dot", `${size}px`);
    const sent = run.wire.reduce((last, entry) => Math.max(last, ...[entry.e, entry.r ?? -1].filter((event) => event < position)), -1);
    const since = whole ? 0 : stops.findLast((stop) => stop.p <= sent)?.p ?? 0;
    const key = `${since} ${position}`;
    if (key === known) return;
    known = key;
    const lit = new Set(data.notified.filter(([event]) => event >= since && event < position).map(([, dot]) => dot));
    for (const [from, end, dot] of data.held) if (from < position && !isOver(end)) lit.add(dot);
    [...box.children].forEach((dot, n) => dot.classList.toggle("lit", lit.has(n)));
  });
}
