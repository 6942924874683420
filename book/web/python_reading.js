// What printed functions need that read what somebody wrote, besides python.js and python_texts.js.
"use strict";
{
  const { py } = gpucalc;
  const TYPES = { string: "str", boolean: "bool", bigint: "int" };

  function type(value) {
    if (value === null || value === undefined) return "NoneType";
    if (typeof value !== "object") return TYPES[typeof value] ?? (Number.isInteger(value) ? "int" : "float");
    return Array.isArray(value) ? "list" : value instanceof Number ? "float" : "dict";
  }

  function cache(made) {
    const held = new Map();
    return (given) => held.get(given) ?? held.set(given, made(given)).get(given);
  }

  function median(values) {
    const sorted = py.sorted(values), half = sorted.length / 2;
    return (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  }

  // What a step gives, or what its fault says.
  function attempt(step) {
    try {
      return [step(), ""];
    } catch (error) {
      if (error instanceof py.Fault) return [null, error.message];
      throw error;
    }
  }

  Object.assign(py, {
    type, cache, median, attempt,
    set: (values = []) => [...new Set(py.list(values))],
    range: (...ends) => {
      const [first, last, step = 1] = ends.length > 1 ? ends : [0, ends[0]];
      return Array.from({ length: Math.max(Math.ceil((last - first) / step), 0) }, (_, place) => first + place * step);
    },
    words: (held) => held.split(/\s+/).filter(Boolean),
    search: (pattern, held) => py.regex(pattern, "").exec(held),
    findall: (pattern, held) => [...held.matchAll(py.regex(pattern, "g"))].map(([all, ...parts]) => (
      parts.length > 1 ? parts.map((each) => each ?? "") : parts.length ? parts[0] ?? "" : all)),
    start: (found) => found.index,
    end: (found) => found.index + found[0].length,
    isdigit: (held) => /^\d+$/.test(held),
  });
}
