// The page that asks for the code of the class.
const tried = decodeURIComponent(location.pathname.slice(1)) || new URLSearchParams(location.search).get("code") || "";
// There were too many wrong codes, so this one was not checked.
const later = document.body.classList.contains("later");
speaks(() => write($("wrong"), later ? say("later") : tried ? say("unknown", tried.slice(0, 12)) : ""));
if (later) setTimeout(() => location.reload(), 1000 + Math.random() * 2000);
else if (!tried) $("code").focus();
