// What functions that are printed from Python (book/web/pyjs.py) need and JavaScript lacks, with Python's meaning; what only those
// that fill texts need is in python_texts.js.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  class Fault extends Error {} // a ValueError: what somebody gave can't be

  const text = (value) => typeof value === "string";
  const isMapping = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const len = (value) => (text(value) ? [...value] : isMapping(value) ? Object.keys(value) : value).length;
  const truth = (value) => (value instanceof Number ? Number(value) !== 0
    : value !== null && typeof value === "object" ? len(value) > 0 : Boolean(value));
  const list = (value) => (isMapping(value) ? Object.keys(value) : [...value]);
  const either = (stops) => (first, ...others) => {
    let value = first;
    for (const next of others) if (truth(value) !== stops) value = next();
    return value;
  };

  function has(held, value) {
    if (isMapping(held)) return Object.hasOwn(held, value);
    return value === null || value === undefined ? held.some((each) => each === null || each === undefined) : held.includes(value);
  }

  function int(value) {
    if (typeof value === "boolean" || text(value)) return Number(value);
    if (!Number.isFinite(value)) throw new Error(`${value} has no text`);
    return Math.trunc(value) || 0;
  }

  // The digits that JavaScript rounds up half-way, as Python rounds: to the even one.
  const toEven = (digits) => digits.replace(/[13579]$/, (last) => last - 1);

  // An amount with so many decimals. Half-way are the numbers that are odd in halves of the last place.
  function fixed(value, places) {
    if (value >= 1e21) return [BigInt(value), ...(places ? ["0".repeat(places)] : [])].join(".");
    const half = (value * 2 ** (places + 1)) % 2 === 1;
    return half ? toEven(value.toFixed(Math.min(places, 100))) : value.toFixed(Math.min(places, 100));
  }

  function exponential(value, places) {
    const [digits, power] = value.toExponential(places).split("e");
    const unit = 10 ** (power - places), half = unit >= 1 && value % unit === unit / 2;
    return `${half ? toEven(digits) : digits}e${power}`;
  }

  function round(value, places) {
    const size = Math.abs(value);
    if (places === undefined) return Math.sign(value) * Number(fixed(size, 0)) || 0;
    if (places >= 0 || size === 0) return Math.sign(value) * Number(fixed(size, Math.max(places, 0)));
    const digits = Number(size.toExponential().split("e")[1]) + places;
    const unit = 10 ** -places, small = size > unit / 2 && digits === -1 ? unit : 0;
    return Math.sign(value) * (digits < 0 ? small : Number(exponential(size, Math.min(digits, 100))));
  }

  const signed = (value, amount) => (value < 0 || Object.is(value, -0) ? `-${amount}` : amount);

  // A number in a form such as `,.2f`, `.2e`, `g` and `,`.
  function format(value, form) {
    const [, comma, places, kind] = /^(,?)(?:\.(\d+))?([efg]?)$/.exec(form), size = Math.abs(value);
    if (!Number.isFinite(value)) throw new Error(`${value} has no text`);
    if (kind === "e") return signed(value, exponential(size, Number(places ?? 6)).replace(/e([+-])(\d)$/, "e$10$2"));
    if (kind === "g") return signed(value, general(size, Number(places ?? 6)));
    const [whole, decimals] = fixed(size, kind ? Number(places ?? 6) : 0).split(".");
    return signed(value, (comma ? whole.replace(/\B(?=(\d{3})+$)/g, ",") : whole) + (decimals ? `.${decimals}` : ""));
  }

  function general(size, figures) {
    const [digits, power] = exponential(size, figures - 1).split("e");
    const bare = (held) => (held.includes(".") ? held.replace(/\.?0+$/, "") : held);
    if (size && (power < -4 || power >= figures)) return `${bare(digits)}e${power.replace(/^([+-])(\d)$/, "$10$2")}`;
    return bare(fixed(size, size ? Math.max(figures - 1 - power, 0) : 0));
  }

  function log10(value) {
    const near = Math.round(Math.log10(value));
    return 10 ** near === value ? near : Math.log10(value);
  }

  function next(values, ...otherwise) {
    if (!values.length && !otherwise.length) throw new Error("nothing is left");
    return values.length ? values[0] : otherwise[0];
  }

  // What is not there is an error, as it is in Python.
  function at(held, place) {
    const value = Array.isArray(held) ? held.at(place) : Object.hasOwn(held, place) ? held[place] : undefined;
    if (value === undefined) throw new Error(`${place}: there is no such thing`);
    return value;
  }

  // Below, level or above, as Python orders numbers and texts, and lists of them.
  function order(one, other) {
    if (!Array.isArray(one)) return one < other ? -1 : Number(one > other);
    return one.map((each, place) => order(each, other[place])).find(Boolean) ?? 0;
  }

  function strip(held, letters, ends = ["start", "end"]) {
    const within = Array.from(held).map((each) => !letters.includes(each));
    const [first, last] = [within.indexOf(true), within.lastIndexOf(true)];
    return first < 0 ? "" : held.slice(ends.includes("start") ? first : 0, last + 1);
  }

  const best = (sign) => (values, key = (each) => each) => list(values).reduce((found, each) => (
    sign * order(key(each), key(found)) > 0 ? each : found));

  gpucalc.py = {
    Fault, len, truth, list, has, at, int, round, format, log10, next, strip, and: either(false), or: either(true),
    max: best(1), min: best(-1),
    sorted: (values, key = (each) => each) => list(values).sort((one, other) => order(key(one), key(other))),
    isinf: (value) => Math.abs(value) === Infinity,
    str: (value) => (value === null || value === undefined ? "None" : String(value)),
    repr: (value) => (!text(value) ? String(value) : value.includes("'") && !value.includes('"') ? `"${value}"`
      : `'${value.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`),
    join: (mark, values) => list(values).join(mark),
    removesuffix: (held, end) => (end && held.endsWith(end) ? held.slice(0, -end.length) : held),
    rstrip: (held, letters) => (letters ? strip(held, letters, ["end"]) : held.trimEnd()),
  };
}
