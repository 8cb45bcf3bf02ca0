// The votes of a class: on phones, the stage, the teacher's page and the exported page.
/** For each choice its text, a bar and a count; the right choices and the viewer's own are marked. */
function bars(choices, votes, right, mine) {
  const all = Math.max(1, votes.reduce((sum, count) => sum + count, 0));
  const list = make("ol", "votes");
  choices.forEach((choice, n) => {
    const count = votes[n] || 0, good = right.includes(n);
    const item = make("li", good ? "good" : ""), bar = make("i");
    if (n === mine) item.classList.add("mine");
    bar.setAttribute("aria-hidden", "true");
    bar.style.width = `${(count / all) * 100}%`;
    const words = prose(text(choice), "span");
    if (good) words.prepend("✓ ");
    if (n === mine) words.append(" ", make("em", "", say("yours")));
    item.append(words, make("b", "", `${count} · ${Math.round((count * 100) / all)}%`), bar);
    list.append(item);
  });
  return list;
}
