// What printed functions need that look for patterns in a text, besides python.js.
"use strict";
{
  // A pattern, or its text, with more around it and more flags.
  const regex = (held, flags, [begin, end] = ["", ""]) => new RegExp(begin + (held.source ?? held) + end, (held.flags ?? "") + flags);

  function sub(pattern, by, held, count) {
    const put = typeof by === "function" ? (...found) => by(found) : by.replaceAll("$", "$$$$").replace(/\\(\d)/g, "$$$1");
    return held.replace(regex(pattern, count ? "" : "g"), put);
  }

  const fullmatch = (pattern, held) => regex(pattern, "", ["^(?:", ")$"]).exec(held);

  Object.assign(gpucalc.py, { regex, sub, fullmatch });
}
