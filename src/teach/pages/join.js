// Asking for the code of the class.
const tried = decodeURIComponent(location.pathname.slice(1)) || new URLSearchParams(location.search).get("code") || "";
speaks(() => write($("wrong"), tried ? say("unknown", tried.slice(0, 12)) : ""));
if (!tried) $("code").focus();
