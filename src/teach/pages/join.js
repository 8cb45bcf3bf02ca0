// Asking for the code of the class.
const tried = decodeURIComponent(location.pathname.slice(1)) || new URLSearchParams(location.search).get("code") || "";
// Too many wrong codes are coming in, and this one was not looked at.
const later = document.body.classList.contains("later");
speaks(() => write($("wrong"), later ? say("later") : tried ? say("unknown", tried.slice(0, 12)) : ""));
if (later) setTimeout(() => location.reload(), 1000 + Math.random() * 2000);
else if (!tried) $("code").focus();
