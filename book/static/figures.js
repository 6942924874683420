// Numbers as text, as gpucalc/core/figures.py writes them and under the same names: gpucalc.figures.number(1.5e9, "byte").
// The units are in gpucalc.data.units; of a tie the even digit is taken, as Python does. What is no number is an error.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const LARGE_COUNTS = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"]];
  const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]];

  const minus = (text) => text.replace("-", "−");
  const infinite = (value) => Math.abs(value) === Infinity;

  function finite(value) {
    if (!Number.isFinite(value)) throw new Error(`${value} has no text`);
    return value;
  }

  // The digits that JavaScript rounds up half-way, as Python rounds: to the even one.
  const toEven = (digits) => digits.replace(/[13579]$/, (last) => last - 1);

  // An amount with so many decimals. Half-way are the numbers that are odd in halves of the last place.
  function fixed(value, places) {
    if (value >= 1e21) return [BigInt(value), ...(places ? ["0".repeat(places)] : [])].join(".");
    const half = (value * 2 ** (places + 1)) % 2 === 1;
    return half ? toEven(value.toFixed(places)) : value.toFixed(places);
  }

  // The amount rounded to three significant figures, and its power of ten.
  function rounded(value) {
    const [digits, power] = value.toExponential(2).split("e");
    const unit = 10 ** (power - 2), half = unit >= 1 && value % unit === unit / 2;
    return [Number(`${half ? toEven(digits) : digits}e${power}`), Number(power)];
  }

  function commas(value, places) {
    const [whole, decimals] = fixed(Math.abs(value), places).split(".");
    const text = whole.replace(/\B(?=(\d{3})+$)/g, ",") + (decimals ? `.${decimals}` : "");
    return value < 0 || Object.is(value, -0) ? `-${text}` : text;
  }

  function three_figures(value) {
    if (Number.isInteger(finite(value)) && Math.abs(value) < 1000) return minus(String(value));
    const [, power] = rounded(Math.abs(value)), places = 2 - power;
    if (places > 0) return minus(commas(value, Math.min(places, 100)));
    return minus(commas(Math.sign(value) * rounded(Math.abs(value))[0], 0));
  }

  // By the largest of the scales that it reaches, else by the last.
  function scaled(value, scales) {
    const [scale, name] = scales.find(([least]) => Math.abs(value) >= least * 0.9995) ?? scales.at(-1);
    return `${three_figures(value / scale)} ${name}`;
  }

  function unit_symbol(unit) {
    if (!Object.hasOwn(gpucalc.data.units, unit)) throw new Error(`unit '${unit}': has no printed form`);
    return gpucalc.data.units[unit][0];
  }

  function number(value, unit = "") {
    const symbol = unit_symbol(unit), [, prefixes, infinity] = gpucalc.data.units[unit];
    if (infinite(value)) return infinity;
    if (prefixes === "small") return seconds(value);
    if (prefixes === "large" && Math.abs(value) >= 1e21) return `${minus(value.toExponential(2).replace("+", ""))} ${symbol}`;
    if (prefixes === "large") return scaled(value, PREFIXES) + symbol;
    if (unit === "" && Math.abs(value) >= 1e6) return scaled(value, LARGE_COUNTS);
    if (unit === "" && Number.isInteger(value)) return minus(commas(value || 0, 0));
    const text = three_figures(value);
    return `${text} ${text === "1" && !symbol.includes("/") ? symbol.replace(/s$/, "") : symbol}`.trimEnd();
  }

  const seconds = (value) => (infinite(value) ? "never" : scaled(value, TIMES));
  const exact = (value, unit = "byte") => `${commas(value, 0).replace(/^-0$/, "0")} ${unit_symbol(unit)}`.trimEnd();
  const gib = (value) => `${three_figures(value / 2 ** 30)} GiB`;
  const percent = (value) => (Number.isFinite(value) ? `${three_figures(nine(100 * value))} %` : "never");
  const nine = (value) => Math.sign(value) * Number(fixed(Math.abs(value), 9));
  const amount = (value, places, unit) => (Number.isFinite(value) ? minus(`${commas(value, places)} ${unit}`) : "no price");
  const usd = (value) => amount(value, Math.abs(value) < 1e4 ? 2 : 0, "USD");
  const hourly = (value) => amount(value, 2, "USD/h");
  const dollars = (value) => number(value, "USD");
  const days = (value) => (value >= 1 ? number(value, "day") : number(24 * value, "hour"));
  const signed = (value, show = number) => (value > 0 ? "+" : "") + show(value);
  const chance = (value) =>
    value < 0.01 ? "less than 1 %" : value > 0.99 ? "more than 99 %" : `${commas(100 * value, 0)} %`;
  const times = (value) => (Number.isFinite(value) ? `${three_figures(value)} times` : "no limit");
  // An amount that is already in a unit with its prefix, or in percent.
  const in_unit = (value, unit) => (unit ? `${three_figures(value)} ${unit}` : number(value));
  const quantity = (name, value) => number(value, gpucalc.data.quantities[name][0]);

  gpucalc.figures = {
    number, three_figures, seconds, unit_symbol, exact, gib, percent, usd, hourly, dollars, days, signed, chance, times, in_unit,
    quantity,
  };
}
