// Decisions in the browser, as gpucalc/decisions/rule.py, points.py and columns.py make them, over the laws and Cases of case.js.
//
//   const market = gpucalc.market(job, "serve");                              // market.js
//   const solved = gpucalc.solve(gpucalc.data.chains.serve, job, market, judged);
//   solved.plan.kept, solved.low.lost[0]                                      // tables by end of the band
//   gpucalc.factors(job, "step_seconds")                                      // [low, plan, high] that a law is multiplied by
//
// A table is an object of columns: a Float64Array of numbers or an array of texts. `job` has rows and plain inputs, no columns.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const { count, taken, exceeds } = gpucalc.columns;
  const isLaw = (name) => Object.hasOwn(gpucalc.laws, name);

  // A number; or an input of the case, or a law, by its name.
  function valueOf(job, name) {
    if (typeof name !== "string") return job.axes.grid(name);
    return job.inputs[name] === undefined ? job.law(name) : job.value(name);
  }

  // What a law's value is multiplied by for low, plan and high: each a number, or a Grid where the families differ.
  function factors(job, law) {
    const { power, parts } = gpucalc.data.bands[law] ?? { power: 1, parts: [] };
    const ends = ["low", "median", "high"].map((end) => parts.reduceRight((rest, [when, above, family]) => {
      const here = (gpucalc.data.families[family]?.[end] ?? 1) ** power;
      const holds = when && has(job, when) ? gpucalc.map((value) => Number(value > above), job.value(when)) : Number(!when);
      const chosen = gpucalc.map((yes, a, b) => (yes ? a : b), holds, here, rest);
      return chosen.set ? chosen : chosen.number;
    }, 1));
    return power > 0 ? ends : ends.reverse();
  }

  const has = (job, name) => job.inputs[name] !== undefined || Object.values(job.rows).some((row) => Object.hasOwn(row, name));

  // Names of what the laws may ask the case for.
  function needed(job, laws) {
    const found = new Set(), left = laws.flatMap((law) => gpucalc.laws[law].args);
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      if (found.has(name)) continue;
      found.add(name);
      const given = job.inputs[name] ?? Object.values(job.rows).find((row) => Object.hasOwn(row, name))?.[name];
      if (typeof given === "string") left.push(given.replace("law:", ""));
      if (given === undefined && isLaw(name)) left.push(...gpucalc.laws[name].args);
    }
    return found;
  }

  // What is the same for cases that differ in their limits, load or prices is worked out once for a market.
  const kept = new WeakMap();

  function pointsOf(step, job, market, before) {
    if (Object.keys(before).length) return new gpucalc.Points(step, job, market, before);
    if (!kept.has(market)) kept.set(market, []);
    const held = kept.get(market).filter((points) => points.step === step);
    for (const points of held) {
      const same = points.of(job);
      if (same) return same;
    }
    const made = new gpucalc.Points(step, job, market, before);
    if (held.length) made.won.places = held.at(-1).won.places; // where to search first
    kept.get(market).splice(0, Infinity, ...held.slice(-3), made);
    return made;
  }

  // The chain at each of the ends, the plan first, as { kept, lost } by end. `judged`: how far along the bands is "sure"; where
  // no limit is judged there, the plan is made there. With a `gpu` only what can be had with it is chosen from.
  function solve(steps, job, market, judged = 0, ends = Object.keys(gpucalc.data.ends), gpu = "") {
    const rows = Object.fromEntries(ends.map((end) => [end, {}])), lost = Object.fromEntries(ends.map((end) => [end, []]));
    const apart = steps.some((step) => step.limits.some((limit) => limit.at === "sure"));
    const far = { ...gpucalc.data.ends, sure: judged, ...(apart ? {} : { plan: judged }) };
    for (const step of steps) {
      const points = new Map(), found = {}, none = rows.plan;
      for (const end of ends) {
        const from = Object.keys(rows[end]).length ? rows[end] : none;
        if (!points.has(from)) points.set(from, pointsOf(step, job, market, from));
        found[end] = step.steady && found.plan ? found.plan : points.get(from).chosen(far[end], far, gpu);
      }
      for (const end of ends) {
        const table = found[end], good = [], bad = [];
        table.broken?.forEach((broken, k) => (broken === step.limits.length ? good : bad).push(k));
        lost[end].push(() => taken(table, bad));
        rows[end] = step.steady && end !== "plan" ? rows.plan : taken(table, good);
      }
    }
    return Object.fromEntries(ends.map((end) => [end, { kept: rows[end], get lost() { return lost[end].map((made) => made()); } }]));
  }

  Object.assign(gpucalc, { solve, factors, count, taken, exceeds, valueOf, needed, isLaw });
}
