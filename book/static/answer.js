// The answer to a case, as gpucalc/decisions/answer.py gives it from what rule.js has solved.
//
//   const given = gpucalc.jobOf(state);                 // job.js
//   const found = gpucalc.answerTo(given);              // { case, kind, kept, lost, figures }, with the ends of the best choice
//   gpucalc.ranged(found)                               // the same with the ends of all choices
//   gpucalc.binding(found), helping(found, binds), turning(found)   // [limit, share], { change, after, choice } and { change, gpu } or null
//
// Tables are lists by column. kept are the choices that keep all limits, the best first; lost the nearest of each other GPU.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const has = Object.hasOwn, ENDS = ["plan", "low", "high"];
  const data = () => gpucalc.data;
  const rowOf = (table, place) => Object.fromEntries(Object.entries(table).map(([name, column]) => [name, column[place]]));
  const isQuantity = (name) => has(data().quantities, name);
  const count = (table) => gpucalc.count(table);
  const valueOf = (given, name) => gpucalc.valueOf(given, name).number;

  const kindOf = (job) => (has(data().chains, job.name) ? job.name : job.kind);

  // The case with what its job and the decision take where it says nothing; a limit that is not given is none.
  function completed(given, kind) {
    const { job } = given.rows, { free, usual, assumptions, engine } = data();
    const names = Object.keys(job).filter((name) => name !== "recipe" && isQuantity(name));
    const taken = { ...Object.fromEntries(free[kind].map((name) => [name, Infinity])),
      ...Object.fromEntries(names.map((name) => [name, "row:job"])), ...usual[kind] };
    if (gpucalc.trains(kind)) {
      for (const name of ["checkpoint_seconds", "restart_seconds"]) [, taken[name]] = assumptions[name];
      taken.recipe = gpucalc.rowNamed("recipe", job.recipe);
    } else Object.assign(taken, engine, released(given.rows.model), ...Object.keys(given.inputs).map((name) => data().along[name]));
    if ("own_cards" in given.inputs) Object.assign(taken, own());
    if ("daily_users" in given.inputs) taken.requests_per_second = "law:user_requests_per_second";
    taken.efficiency = gpucalc.rowNamed("efficiency", "achieved");
    return given.but(Object.fromEntries(Object.entries(taken).filter(([name]) => !(name in given.inputs || name in given.rows))));
  }

  // What cards that the reader has take for granted: none is to spare, they are set up, and their host has memory of the usual kind.
  const own = () => ({ spare_replicas: 0, setup_hours: 0, least_rented_hours: 0 });

  // The format in which a model is released, where that takes fewer bytes than is taken for granted: it is served in it.
  function released({ native_format: name }) {
    const stored = name ? gpucalc.rowNamed("weight_format", name) : null;
    return stored && stored.weight_element_bytes < data().defaults.weight_element_bytes ? { weight_format: stored } : {};
  }

  const judged = (whole) => gpucalc.limits.far[valueOf(whole, "sure")];
  const solved = (whole, kind, tables, ends, gpu) => gpucalc.solve(data().chains[kind], whole, tables, judged(whole), ends, gpu);

  // The answer with the ends of the best choice; those of other GPUs' choices are blank where it did not take them to find it.
  function answerTo({ rows, inputs, rents }) {
    const given = new gpucalc.Case(rows, inputs), kind = kindOf(rows.job), whole = completed(given, kind);
    const tables = gpucalc.market(whole, kind, rents), { plan, kept, ends, best } = chosen(whole, kind, tables);
    const lost = nearest(plan, data().chains[kind], whole);
    return { given, case: whole, kind, rents, tables, plan, kept, objective: data().objectives[kind], best,
      lost, own: ofOwn(whole, kind, tables, lost, best), figures: best ? figuresOf(whole, best, ends.get(best.gpu), kind) : {} };
  }

  // The choices at the plan in order, and the best of them, with the ends of its GPU's.
  function chosen(whole, kind, tables) {
    const { plan } = solved(whole, kind, tables, ["plan"]), ends = new Map();
    let kept = ranked(plan.kept, ends, kind), best = null;
    while (count(kept) && !ends.has(kept.gpu[0])) {
      ends.set(kept.gpu[0], solved(whole, kind, tables, ENDS, kept.gpu[0]));
      kept = ranked(plan.kept, ends, kind);
      best = rowOf(kept, 0);
    }
    return { plan, kept, ends, best };
  }

  // The best choices by the share of cases in which the limits hold, null where there is none.
  function levelsOf({ case: whole, kind, tables, best }) {
    const own = valueOf(whole, "sure"), shares = [...new Set([...data().levels, own])].sort((a, b) => a - b);
    return shares.map((share) => [share, share === own ? best : chosen(whole.but({ sure: share }), kind, tables).best]);
  }

  // What a load comes to on the reader's own cards or within a budget that is too small for it: the most that they carry to 1 %, and where they do not hold the weights, what the
  // memory of their host has to and the least time of a token then.
  function ofOwn(whole, kind, tables, lost, best) {
    const own = has(whole.inputs, "own_cards");
    if (kind !== "serve" || (!own && (best || valueOf(whole, "usd_per_month") === Infinity))) return {};
    const serves = (rate) => count(solved(whole.but({ requests_per_second: rate }), kind, tables, ["plan"]).plan.kept) > 0;
    const asked = valueOf(whole, "requests_per_second"), found = {};
    let rate = asked, able = serves(rate);
    for (; !able && rate > asked / 1000; able = serves(rate)) rate /= 2;
    for (let factor = 2; able && factor > 1.01;) {
      if (rate * factor < data().most_load && serves(rate * factor)) rate *= factor;
      else factor **= 0.5;
    }
    if (able) found.carried = rate;
    for (const { row: { memory_bytes, bandwidth } } of own ? Object.values(lost) : []) {
      const alone = whole.but({ memory_bytes, bandwidth, batch: 1 }), beyond = valueOf(alone, "offloaded_bytes");
      if (beyond > 0) Object.assign(found, { offloaded_bytes: beyond, offloaded_token_seconds: valueOf(alone, "offloaded_token_seconds") });
    }
    return found;
  }

  // The answer with the ends of every choice.
  function ranged(found) {
    const { case: whole, kind, tables, plan } = found, all = solved(whole, kind, tables, ENDS);
    return { ...found, kept: ranked(plan.kept, new Map((plan.kept.gpu ?? []).map((gpu) => [gpu, all])), kind) };
  }

  const keyOf = (table, kind, place) => data().keys[kind].map((name) => table[name][place]).join("|");
  const places = (table) => Array.from({ length: count(table) }, (_, place) => place);
  const byKey = (table, kind) => new Map(places(table).map((place) => [keyOf(table, kind, place), place]));

  // The choices that keep all limits, the best first, each with the objective at the ends of its band, NaN where they are not in
  // `ends` by GPU; such a choice stands before its equals, and a faster one before others.
  function ranked(plan, ends, kind) {
    const objective = data().objectives[kind], table = { ...plan }, cost = plan[objective], time = plan[data().times[kind][0]], found = new Map();
    const keysOf = (kept) => found.get(kept) ?? found.set(kept, byKey(kept, kind)).get(kept); // GPUs may share a table
    for (const end of ["low", "high"]) {
      table[`${end}_${objective}`] = places(plan).map((place) => {
        const kept = ends.get(plan.gpu[place])?.[end].kept;
        return kept ? kept[objective]?.[keysOf(kept).get(keyOf(plan, kind, place))] ?? Infinity : NaN;
      });
    }
    const high = table[`high_${objective}`], wide = (place) => Number(high[place] < Infinity && high[place] > data().wide * cost[place]);
    const keys = [wide, (place) => cost[place], (place) => (Number.isNaN(high[place]) ? -1 : high[place]), (place) => time[place], (place) => plan.offer[place]];
    return gpucalc.taken(table, places(plan).sort((a, b) => keys.reduce((sign, key) => sign || compared(key(a), key(b)), 0)));
  }

  const compared = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  // Of each GPU without a choice the one that came furthest, those that kept the most limits first: its limit, its value and
  // what is allowed, and its row.
  function nearest({ kept, lost }, steps, whole) {
    const able = new Set(kept.gpu ?? []), found = new Map();
    lost.forEach((table, step) => {
      for (const place of places(table)) {
        const gpu = table.gpu[place];
        if (able.has(gpu)) continue;
        const score = [step, table.broken[place], -table.excess[place]], held = found.get(gpu);
        if (!held || score.reduce((sign, each, k) => sign || compared(each, held.score[k]), 0) > 0) {
          found.set(gpu, { score, table, place });
        }
      }
    });
    const furthest = ([, one], [, other]) => other.score[0] - one.score[0] || other.score[1] - one.score[1];
    return Object.fromEntries([...found].sort(furthest).map(([gpu, { score, table, place }]) => {
      const limit = steps[score[0]].limits[score[1]], row = rowOf(table, place);
      const value = (name) => (has(row, name) ? row[name] : valueOf(whole, name));
      const reached = limit.at ? `${limit.at}_${limit.of}` : limit.of;
      return [gpu, { step: score[0], limit, value: value(reached), most: value(limit.most), row }];
    }));
  }

  // The figures of the best choice by card: a column has the ends of the same choice, or is known as it is; a law has a band.
  function figuresOf(whole, best, ends, kind) {
    const isInput = ([name, value]) => isQuantity(name) && !has(gpucalc.laws, name) && typeof value === "number";
    const known = Object.entries(best).filter(isInput);
    const held = whole.but(Object.fromEntries(known)), key = data().keys[kind].map((name) => best[name]).join("|");
    const same = (end) => byKey(ends[end].kept, kind).get(key), made = new Map();
    const at = (given, name = JSON.stringify(given)) => made.get(name) ?? made.set(name, held.but(given)).get(name);
    return Object.fromEntries(data().cards[kind].filter(({ name }) => name !== "cost" || best.priced).map((card) => {
      const unit = data().quantities[card.of][0];
      if (card.law) return [card.name, { ...bandOf(at, card), unit }];
      const [low, high] = ["low", "high"].map((end) => (
        card.banded ? ends[end].kept[card.of]?.[same(end)] ?? Infinity : best[card.of]));
      return [card.name, { low, plan: best[card.of], high, bound: null, unit }];
    }));
  }

  function bandOf(at, { given, of, worst }) {
    const ends = worst ? [0, 1].map((last) => at({ ...given, [worst]: last })) : [at(given)];
    return band(ends.reduce((a, b) => (b.law(of).number > a.law(of).number ? b : a)), of);
  }

  // What to plan for, as gpucalc/rows/bands.py says it: the law moved by how far off its family was, none better than the bound.
  function band(here, law) {
    const value = here.law(law).number, bound = boundOf(here, law), { power } = data().bands[law] ?? {};
    const nearer = power > 0 ? Math.max : Math.min;
    const ends = gpucalc.factors(here, law).map((factor) => value * factor);
    const [low, plan, high] = bound === null ? ends : ends.map((end) => nearer(end, bound));
    return { low, plan, high, bound };
  }

  // What nothing beats: the law at the peaks of the data sheet, with all hidden that can be and no latency; null for bytes.
  function boundOf(here, law) {
    if (!has(data().bands, law) || data().bands[law].stored) return null;
    if (!peaked.has(here)) peaked.set(here, atPeaks(here));
    return peaked.get(here).law(gpucalc.limits.undisturbed[law] ?? law).number;
  }

  const peaked = new WeakMap();

  function atPeaks(here) {
    const isGiven = (name) => typeof here.inputs[name] === "number", peaks = gpucalc.rowNamed("efficiency", "bound");
    const given = Object.keys(peaks).filter(isGiven);
    const left = Object.entries(gpucalc.limits.bound).filter(([name]) => isQuantity(name));
    const mfu = isGiven("mfu") ? { mfu: 1 } : {};
    return here.but({ ...Object.fromEntries(given.map((name) => [name, null])), efficiency: peaks })
      .but({ ...Object.fromEntries(left), ...mfu });
  }

  // What binds, and what would help: the plan solved again

  const least = (whole, kind, tables) => {
    const { kept } = solved(whole, kind, tables, ["plan"]).plan;
    return count(kept) ? kept[data().objectives[kind]].reduce((a, b) => Math.min(a, b)) : Infinity;
  };

  // What each limit of the case costs the best choice, as a share of its objective, the most first.
  function* binding({ case: whole, kind, tables, best, objective }) {
    for (const name of best ? data().free[kind].filter((each) => valueOf(whole, each) < Infinity) : []) {
      yield [name, 1 - least(whole.but({ [name]: Infinity }), kind, tables) / best[objective]];
    }
  }

  const sortedBinds = (found) => found.filter(([, share]) => share > 1e-9).sort((a, b) => b[1] - a[1]);

  // The changes that lower the objective, with what it and the best choice are then, the lowest first; all that work if none did.
  // A limit that costs nothing (`binds`, as binding yields it) needs no change.
  function* helping({ given, case: whole, kind, best, objective, rents }, binds) {
    const before = best ? best[objective] : Infinity, free = new Set(binds.filter(([, share]) => !(share > 1e-9)).map(([name]) => name));
    for (const change of data().changes[kind]) {
      if (free.has(change.name)) continue;
      if (change.value !== null && whole.rows[change.name]?.name === change.value) continue;
      if (change.own && !has(whole.inputs, "own_cards") || change.new && has(whole.inputs, change.name)) continue;
      if (change.of && change.of !== whole.rows.job.name && !(change.of in whole.inputs) && !(whole.rows.model[change.of] > 0)) continue;
      const value = change.value ?? scaled(whole, change);
      if (value === null) continue;
      const choice = bestWith(given, changed({ ...change, value }), kind, rents), after = choice?.[objective] ?? Infinity;
      const sold = choice && (choice.priced || change.name !== "term");
      yield sold && after < before * (1 - 1e-9) ? { change: { ...change, value }, after, choice } : null;
    }
  }

  // The inputs of a case with a change.
  const changed = ({ name, value, along = [] }) =>
    ({ [name]: value, ...Object.fromEntries(along.map((each) => [each, data().assumptions[each][1]])) });

  const sortedHelps = (found) => found.filter(Boolean).sort((a, b) => a.after - b.after);

  // The best choice with the changes; null where there is none, or the book has no such offer.
  function bestWith(given, changes, kind, rents) {
    const meant = Object.entries(changes).map(([name, value]) =>
      [name, isQuantity(name) ? value : gpucalc.rowNamed(name, value)]);
    const whole = completed(given.but(Object.fromEntries(meant)), kind);
    try {
      return firstOf(solved(whole, kind, gpucalc.market(whole, kind, rents), ["plan"]).plan.kept, data().objectives[kind]);
    } catch (error) {
      if (error instanceof gpucalc.MissingPrice) return null;
      throw error;
    }
  }

  // The choice at the plan with the least objective, the first offer of equals; null where there is none.
  function firstOf(kept, objective) {
    const order = (a, b) => compared(kept[objective][a], kept[objective][b]) || compared(kept.offer[a], kept.offer[b]);
    const first = places(kept).reduce((a, b) => (a !== null && order(a, b) <= 0 ? a : b), null);
    return first === null ? null : rowOf(kept, first);
  }

  // Of each load and length, in each direction, the first change at which another GPU is the best, and that GPU.
  function* turning({ case: whole, kind, tables, best, objective }) {
    const ways = new Set();
    for (const change of best ? data().turns[kind] : []) {
      const { name, times } = change, way = `${name} ${times > 1}`;
      const given = whole.inputs[name] === "row:job" ? whole.rows.job[name] : whole.inputs[name];
      if (ways.has(way) || typeof given !== "number") continue;
      const value = isWhole(name) ? Math.max(toEven(valueOf(whole, name) * times), 1) : valueOf(whole, name) * times;
      const { kept } = solved(whole.but({ [name]: value }), kind, tables, ["plan"]).plan;
      const { gpu } = firstOf(kept, objective) ?? best;
      if (gpu !== best.gpu) ways.add(way);
      yield gpu !== best.gpu ? { change: { ...change, value }, gpu } : null;
    }
  }

  const isWhole = (name) => data().domains[data().quantities[name][2]][3];
  const toEven = (value) => (value % 1 === 0.5 && Math.floor(value) % 2 === 0 ? Math.floor(value) : Math.round(value));

  function scaled(whole, { name, times }) {
    const value = valueOf(whole, name) * times;
    return value === Infinity ? null : isWhole(name) ? Math.ceil(value) : value;
  }

  Object.assign(gpucalc, { answerTo, changed, ranged, binding, helping, levelsOf, sortedBinds, sortedHelps, turning });
}
