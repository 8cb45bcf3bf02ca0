// Shared by the pages of a class: language, connection, the clock of a vote, the state of the locks.
Object.assign(SAYS, {
  code: ["The code on the screen", "屏幕上的口令"], join: ["Join the class", "进入课堂"],
  unknown: ["No class here has the code “{}”. Look at the screen again.", "没有口令为“{}”的课堂，请再看一眼屏幕。"],
  later: ["One moment: too many wrong codes are coming in. This page tries again by itself.", "请稍等：输错的口令太多，本页会自动重试。"],
  private: [
    "No names, no accounts. Votes are counted without knowing whose they are; one cookie keeps each phone to one vote.",
    "无需姓名和账号。投票匿名计数，仅用一个 Cookie 保证每台手机只计一票。",
  ],
  connecting: ["Connecting…", "正在连接…"],
  lost: ["Reconnecting…", "正在重新连接…"],
  over: ["No connection. The class may be over.", "连接不上，课可能已经结束。"],
  waits: ["You are in. Look at the screen: the lesson begins in a moment.", "已进入课堂。请看大屏幕，马上开始。"],
  move: ["The class decides", "由全班决定"], chosen: ["The class chose: {}", "大家选的是：{}"],
  unsent: ["Not sent yet. It will be, as soon as the connection is back.", "还没发出去，连上后会自动补发。"],
  sending: ["Sending…", "正在发送…"],
  counted: ["Counted. You can still change it.", "已计票，结束前还可以改。"],
  closed: ["Voting is over. The answer comes in a moment.", "投票已结束，答案马上揭晓。"],
  late: ["Too late: this question was already decided.", "来不及了，这道题已经公布结果。"],
  slower: ["Too many at once. Wait a second, then tap again.", "点得太快了，请稍等一秒再点。"],
  refused: ["Your vote was not accepted. Reload the page, then tap again.", "投票没有被接受，请刷新页面后再点一次。"],
  voted: ["{} of {} voted", "{} 人已投票，共 {} 人"], joined: ["{} joined", "已有 {} 人加入"],
  seconds: ["{} s left", "还剩 {} 秒"], votes: ["How the class voted", "全班的选择"],
  plausible: ["About your choice", "关于你的选择"],
  lock: ["the lock", "锁"], named: ["the lock “{}”", "锁“{}”"],
  taken: ["Now {} believes that it has {}, too, beside {}.", "{} 也以为自己拿到了{}，而 {} 还没有放手。"],
  free: ["free", "空闲"], held: ["held by {}", "{} 持有"], both: ["{} at once: {}", "{} 个同时持有：{}"],
  broken0: ["Broken", "已攻破"],
  broken: ["Broken by this class in {} moves", "全班用 {} 步攻破了这把锁"],
  broken1: ["Broken by this class in one move", "全班只用 1 步就攻破了这把锁"],
  predicts: ["The class predicts", "全班先猜"],
  now: ["Now", "当前"], next: ["Next", "下一步"], notes: ["Notes on this lesson", "本课备注"], note: ["Note: {}", "备注：{}"],
  joining: ["How to join", "如何加入"], address: ["{} · code {}", "{} · 口令 {}"], codeis: ["Code {}", "口令 {}"],
  forwards: ["Next", "下一步"], backwards: ["Back", "后退"], plays: ["Play / pause", "播放 / 暂停"],
  vote: ["Let them vote", "发起投票"], endvote: ["End the vote", "结束投票"], ends: ["Next (ends the vote)", "下一步（结束投票）"],
  unheard: ["That did not arrive. Try again.", "没有送达，请重试。"], busy: ["One moment, still at work.", "请稍等，上一步还没做完。"],
});

// The language of the terminal, in which the stage and the teacher's page begin; other pages have none.
const GIVEN = document.documentElement.dataset.lang || "";
/** The storage of the browser, if the page may use it. What is chosen on a page with a given language lasts as long as
 *  its tab, so that the next class begins in its own. */
const memory = {
  get(key) { try { return (GIVEN ? sessionStorage : localStorage).getItem(key); } catch (error) { return null; } },
  set(key, value) { try { (GIVEN ? sessionStorage : localStorage).setItem(key, value); } catch (error) { /* not stored */ } },
};
lang = memory.get("lang") || GIVEN || (/^zh\b/i.test(navigator.language || "") ? "zh" : "en");
if (lang !== "zh") lang = "en";

/** Draws the page's texts in the current language, now and whenever it changes. */
function speaks(draw) {
  const speak = () => {
    document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
    $("language").textContent = lang === "zh" ? "English" : "中文";
    $("language").lang = lang === "zh" ? "en" : "zh-CN";
    for (const element of document.querySelectorAll("[data-says]")) element.textContent = say(element.dataset.says);
    draw();
  };
  const turn = () => {
    lang = lang === "zh" ? "en" : "zh";
    memory.set("lang", lang);
    speak();
  };
  $("language").addEventListener("click", turn);
  speak();
  return turn;
}

/** Replaces the content of an element if it differs, so that screen readers announce only changes. */
function show(element, key, make) {
  const shown = JSON.stringify([lang, key]);
  if (element.dataset.shown === shown) return false;
  element.dataset.shown = shown;
  element.textContent = "";
  element.append(...[].concat(make()));
  return true;
}
function write(element, words) {
  if (element.textContent !== words) element.textContent = words;
  element.hidden = !words;
}

/** Connects to the class, and reconnects when the connection is lost. `hear` has a function for each kind of event. */
function listen(address, hear) {
  let source = null, due = 0, tries = 0, since = Date.now(), first = true;
  const tell = () => {
    const away = Date.now() - since;
    // A short interruption is not reported.
    const fine = (source && source.readyState === 1) || away < (first ? 400 : 1500);
    write($("lost"), fine ? "" : say(away > 60000 ? "over" : first ? "connecting" : "lost"));
  };
  const connect = () => {
    clearTimeout(due);
    if (source) source.close();
    source = new EventSource(address);
    source.onopen = () => { tries = 0; first = false; since = Date.now(); tell(); };
    source.onerror = () => {
      if (source.readyState === 2) again();
      tell();
    };
    for (const kind of Object.keys(hear)) {
      source.addEventListener(kind, (event) => {
        since = Date.now();
        hear[kind](JSON.parse(event.data));
      });
    }
  };
  // Random delays, so that not all phones reconnect at the same moment.
  const again = () => {
    clearTimeout(due);
    due = setTimeout(connect, Math.min(10000, 500 * Math.pow(2, tries++)) * (0.5 + Math.random()));
  };
  // A phone that was asleep, or changed its network, may have a dead connection.
  let hidden = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hidden = Date.now();
    else if (source.readyState !== 1 || Date.now() - hidden > 5000) connect();
  });
  addEventListener("online", connect);
  addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
  setInterval(() => {
    if (source.readyState === 1) since = Date.now();
    tell();
  }, 1000);
  connect();
  return tell;
}

/** Whether votes are still counted. */
const votable = (poll) => Boolean(poll) && !poll.closed && !poll.decided;
/** Shows the seconds left in a vote, and a bar. `left` is the time left according to the server, in milliseconds. */
const ending = { poll: null, at: 0, lasts: 1 };
function countDown(poll, left) {
  const known = typeof left === "number", counting = votable(poll) && (known || poll.lasts);
  if (!counting || ending.poll !== poll.id) ending.at = 0;
  ending.poll = poll && poll.id;
  if (counting && (!ending.at || known)) {
    ending.at = Date.now() + (known ? left : poll.lasts);
    ending.lasts = poll.lasts || left || 1;
  }
  tick();
}
function tick() {
  const left = Math.max(0, ending.at - Date.now()), clock = document.querySelector(".count");
  if (!clock) return;
  write(clock, ending.at ? say("seconds", Math.ceil(left / 1000)) : "");
  clock.style.setProperty("--left", `${Math.min(100, (left * 100) / ending.lasts)}%`);
}
setInterval(tick, 200);

/** The holders of a lock, in words and in their colours. */
function lockState(lock) {
  const item = make("li", lock.broken ? "both" : ""), [before, after] = say(lock.broken ? "both" : "held", ...(lock.broken ? [lock.holders.length] : []), "\n").split("\n");
  item.append(make("b", "", text(lock.name)), " ");
  if (!lock.holders.length) {
    item.append(`○ ${say("free")}`);
    return item;
  }
  item.append(`${lock.broken ? "✗ " : ""}${before}`);
  lock.holders.forEach((holder, n) => {
    const name = colour(make("span", "ink", `${GLYPHS[holder.client % 8]} ${holder.name}`), holder.client);
    item.append(n ? " " : "", name);
  });
  item.append(after);
  return item;
}
/** Who believes now that it has a lock that others believe to have; its holders are in the order in which they came. */
function overlapWords(lock) {
  const both = lock.name, name = both.en !== both.zh ? text(both) : both.en === "lock" ? say("lock") : say("named", both.en);
  const who = lock.holders.map((holder) => `${GLYPHS[holder.client % 8]}\u00a0${holder.name}`), newest = who.pop();
  return say("taken", newest, name, who.join(" "));
}
/** With the number of moves, if the class chose any of them. */
const brokenWords = (broken) => (broken.moves === null ? say("broken0") : broken.moves === 1 ? say("broken1") : say("broken", broken.moves));
const stepWords = (seen) => (seen.steps ? say("step", seen.step, seen.steps) : "");
/** The right choices of a decided poll, or the move that the class chose. */
function happened(poll) {
  const words = poll.decided.right.map((n) => text(poll.choices[n])).join(" / ");
  return words ? say(poll.kind === "move" ? "chosen" : "happened", words) : "";
}
const asked = (poll) => say(poll.kind === "move" ? "move" : "question");
