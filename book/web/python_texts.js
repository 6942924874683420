// What printed functions need that fill texts, besides python.js.
"use strict";
{
  function partition(held, mark) {
    const at = held.indexOf(mark);
    return at < 0 ? [held, "", ""] : [held.slice(0, at), mark, held.slice(at + mark.length)];
  }

  // What is left over, of the sign of what it is divided by.
  function mod(value, by) {
    const left = value % by;
    return left !== 0 && left < 0 !== by < 0 ? left + by : left;
  }

  // A pattern, or its text, with more around it and more flags.
  const regex = (held, flags, [begin, end] = ["", ""]) => new RegExp(begin + (held.source ?? held) + end, (held.flags ?? "") + flags);

  function sub(pattern, by, held, count) {
    const put = typeof by === "function" ? (...found) => by(found) : by.replaceAll("$", "$$$$").replace(/\\(\d)/g, "$$$1");
    return held.replace(regex(pattern, count ? "" : "g"), put);
  }

  Object.assign(gpucalc.py, {
    partition, regex, sub,
    mod,
    prod: (values) => values.reduce((a, b) => a * b, 1),
    sum: (values) => values.reduce((a, b) => a + b, 0),
    get: (held, name, otherwise = null) => (Object.hasOwn(held, name) ? held[name] : otherwise),
    removeprefix: (held, begin) => (held.startsWith(begin) ? held.slice(begin.length) : held),
    quote: (held) => (/^[\w@%+=:,./-]+$/.test(held) ? held : `'${held.replaceAll("'", "'\"'\"'")}'`),
    fullmatch: (pattern, held) => regex(pattern, "", ["^(?:", ")$"]).exec(held),
  });
}
