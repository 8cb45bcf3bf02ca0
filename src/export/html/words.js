// Texts in both languages, and the basics of every page: that of an exported run, and those of a class, which must also
// work on phones of 2018 (ES2017). Everything that a lesson or a server says is written as text, never as markup.
const GLYPHS = ["●", "■", "▲", "◆", "▼", "◐", "◇", "○"];
const SAYS = {
  story: ["Story", "讲解"], intro: ["Before you start", "课前须知"], question: ["Your prediction", "先猜一猜"],
  verdict: ["Verdict", "结论"], lanes: ["Who believes what", "各方眼中的锁"],
  servers: ["What the servers hold", "服务器上的真相"], wire: ["On the wire", "网络收发"],
  holding: ["holding", "持有"], sharing: ["sharing", "共享持有"], waiting: ["waiting", "等待"], unsure: ["unsure", "不确定"],
  mine: ["holds", "持有"], shared: ["shared", "共享持有"], mistaken: ["is wrong", "已失锁"], still: ["still thinks it holds", "仍以为持有"],
  never: ["thinks it holds", "自以为持有"], waits: ["waits", "等待"],
  saw: ["saw {}", "读到 {}"],
  frozen: ["frozen", "冻结"], dead: ["killed", "被杀死"],
  home: ["To the beginning (Home)", "回到开头 (Home)"], back: ["One step back (←)", "后退一步 (←)"],
  play: ["Play (Space)", "播放（空格）"], pause: ["Pause (Space)", "暂停（空格）"],
  forward: ["One step forward (→)", "前进一步 (→)"], end: ["To the end (End)", "到结尾 (End)"],
  scrub: ["Where in the run", "播放位置"], speed: ["Speed", "速度"], step: ["step {}/{}", "第 {}/{} 步"],
  recorded: ["RECORDED", "录像"], wall: ["WALL CLOCK", "真实时钟"], controlled: ["RECORDED", "录像"],
  expected: ["expected", "预期"], observed: ["observed", "实际"], takeaway: ["Takeaway", "要点"],
  happened: ["What happened: {}", "实际是：{}"],
  right: ["You were right: {}", "猜对了：{}"], wrong: ["You said: {}. What happened: {}", "你猜的是：{}。实际是：{}"],
  nothing: ["nothing yet", "暂无"], empty: ["empty", "空"], died: ["this server has died", "该服务器已退出"],
  forever: ["no expiry", "永不过期"], gone: ["gone (TTL over)", "已过期（TTL 到期）"],
  more: ["{} more", "还有 {} 个"], watching: ["{} watching", "{} 个监听"], flight: ["in flight", "未返回"],
  notified: ["notified", "已通知"], yours: ["your choice", "你的选择"],
};

let lang = "en";

/** The glyph of a client; after the clients with glyphs of their own, a number. */
const glyphOf = (client) => GLYPHS[client] || String.fromCodePoint(0x2460 + (client % 20));

const $ = (id) => document.getElementById(id);
const say = (key, ...values) => {
  let n = 0;
  return SAYS[key][lang === "zh" ? 1 : 0].replace(/\{\}/g, () => values[n++]);
};
/** The text in the current language; a string is the same in both. */
const text = (both) => (typeof both === "string" ? both : both ? both[lang] : "");
function make(tag, name, words) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (words !== undefined) element.textContent = words;
  return element;
}
/** Text with `code` between backticks. */
function prose(words, tag = "p") {
  const element = make(tag);
  words.split("`").forEach((part, n) => { if (part) element.append(n % 2 ? make("code", "", part) : part); });
  return element;
}
/** The same with a class. */
function line(name, words) {
  const element = prose(words);
  element.className = name;
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

