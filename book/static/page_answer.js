// What the front page shows of a state: cards, options and what would flip the choice, from the answer and its words.
//
//   gpucalc.answer(state)                // { faults, cards, cautions, options, flips, commands, prices }: what one solve gives
//   gpucalc.more(state, answer)          // the same with what binds and what helps, which take further solves
//   gpucalc.more(state, answer, hear)    // the same to `hear`, made in the page's idle moments; returns what stops it
//
// Cards are { id, title, big, low, plan, high, bound, scale, small, note, binds, helps, why }, options { key, words, gpus, usd,
// low_usd, high_usd, reason, state }, flips { key, value, text },
// commands { title, text, note }. Texts may hold what a price file says: text, never markup.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const KEPT = 8;
  const has = Object.hasOwn;
  const held = new Map(); // the last answers, by state
  const word = () => gpucalc.words;
  const finite = (value) => (Number.isFinite(value) ? value : null);

  // Cards

  function card(id, title, parts, bar, [page, text], most = 0) {
    const { low, plan, high, bound } = bar ?? {}, ends = [low, high].filter(Number.isFinite).sort((a, b) => a - b);
    const values = [low, plan, high, bound, most].filter(Number.isFinite);
    return {
      id, title, ...parts, low: bar ? finite(Math.min(low, plan, high)) : null, plan: bar ? finite(plan) : null,
      high: bar && ends.length > 1 ? Math.max(plan, ...ends) : null, bound: finite(bound),
      scale: bar && Number.isFinite(plan) ? [0, 1.1 * Math.max(...values)] : null, binds: "", helps: null, why: { page, text },
    };
  }

  const sureCard = (known, why) => {
    const [big, small] = ["big_sure", "small_sure"].map((name) => word().fill(name, known));
    return card("sure", gpucalc.texts.sure, { big, small, note: "" }, null, why);
  };

  function cardsOf(found, known) {
    const made = word().cards(found, known).map(({ name, title, big, small, note, page, link, bar }) =>
      card(name, title, { big, small, note }, bar, [page, link], name === "fits" ? known.memory_bytes : 0));
    return [...made, sureCard(known, ["measurements", "how wrong the formulas are"])];
  }

  // Where nothing keeps the limits: what comes nearest.
  function noCard(found, known, rows) {
    const [loose] = word().loosen(found, rows, known), nearest = loose?.[1] ?? rows[0];
    const near = nearest ? { nearest: nearest.gpu, ...Object.fromEntries(["reason", "limit", "value", "most"].map((name) =>
      [`nearest_${name}`, nearest[name]])) } : {};
    const offered = Number([...found.lost.values()].some(({ limit }) => limit.of !== "unrented"));
    const note = word().fill("headline_none", { ...known, ...near, offered });
    const change = loose && Number.isFinite(nearest.value) ? { [nearest.limit]: nearest.value * (1 + 1e-9) } : null;
    return { ...card("fits", gpucalc.texts.titles.fits, { big: word().fill("big_none", known), small: "", note }, null,
      gpucalc.texts.why[found.kind].fits), helps: change ? { text: loose[0], change } : null };
  }

  // Options and flips

  // Of each GPU its best choice, and what the others lack.
  function rowsOf(found) {
    const { gpu = [] } = found.kept, first = [...new Set(gpu)].map((name) => gpu.indexOf(name));
    return word().choices(found, first);
  }

  // The same with the case that each is.
  function optionsOf(rows) {
    return rows.map((row) => ({
      key: `${row.gpu} ${row.offer ?? ""}`, words: word().fill("option", row.holds ? row : { gpu: row.gpu }),
      gpus: row.holds ? row.gpus : null, usd: row.holds ? row.objective : null,
      low_usd: row.holds ? row.low_objective ?? null : null, high_usd: row.holds ? row.high_objective ?? null : null,
      reason: row.reason || word().fill("option_best", row),
      state: row.holds ? { cards: row.gpu, ...(row.yours ? {} : { provider: row.provider }), term: row.term } : null,
    }));
  }

  // The rent at which another GPU wins is tried as a rent of the reader's own.
  function flipsOf(rows, state) {
    if (has(state, "rents")) return [];
    const below = (turn) => Number((turn * 0.999).toPrecision(4));
    return word().flips(rows).filter(({ row, turn }) => turn < row.usd_per_hour)
      .map(({ row, turn, text }) => ({ key: "rents", text, value: `gpu,usd_per_hour,term\n${row.gpu},${below(turn)},${row.term}` }));
  }

  // Rent or buy

  function owningAnswer(state, rents) {
    const { own } = gpucalc.texts;
    if (!gpucalc.owning) return nothing(word().fill("lacks", { lacks: "book" }));
    const data = atOwnRents(gpucalc.owning, state.gpu, rents), found = gpucalc.rentOrBuy(state, data);
    const known = { kind: "own", gpu: state.gpu, lacks: found.lacks, sure: state.sure ?? data.inside };
    if (found.lacks) return nothing(word().fill("lacks", known));
    Object.assign(known, factsOf(found, state));
    const bars = { ways: null, cost: { ...found.owned, bound: null }, long: found.needed && { ...found.needed, bound: null } };
    const said = (name) => Object.fromEntries(["big", "small", "note"].map((part) =>
      [part, word().fill(`${part}_own_${name}`, known)]));
    const cards = Object.entries(own).map(([name, [title, link]]) =>
      card(name, title, said(name), bars[name], ["break_even", link]));
    cards.push(sureCard(known, ["break_even", "how the draws are made"]));
    return { ...nothing(), cards, flips: ownFlips(found, state) };
  }

  function factsOf({ deal, verdict, owned, rented, needed }, state) {
    const ends = (name, figure) => (figure ? ["low", "plan", "high"].map((end) => [`${name}_${end}`, figure[end]]) : []);
    const { rent, server, ranges } = deal;
    return {
      verdict: word().saidVerdict(verdict), chance: verdict.chance,
      doubt: Number(deal.doubt.length > 0), rent_usd: rent.usd_per_hour, provider: rent.provider, server_usd: server.server_usd,
      use: state.utilization ?? ranges.utilization?.[1],
      ...Object.fromEntries([...ends("owned", owned), ...ends("rented", rented), ...ends("needed", needed)]),
    };
  }

  // Inputs of the job at whose value the other wins.
  function ownFlips({ turns }, state) {
    const { takes } = gpucalc.catalogue.jobs[state.job], { quantities } = gpucalc.catalogue;
    const there = Object.entries(turns).filter(([name, value]) => takes.includes(name) && Number.isFinite(value));
    return there.map(([name, value]) => {
      const { unit, meaning } = quantities[name];
      const turn_text = unit === "" ? gpucalc.figures.percent(value) : gpucalc.figures.number(value, unit);
      const text = word().begun(word().fill("flip_own", { turn_text, meaning }));
      return { key: name, value: Number(value.toPrecision(6)), text };
    });
  }

  // Rents that the reader pasted, over those of the book

  function atOwnRents(data, gpu, rents) {
    const own = rents.filter((rent) => rent.gpu === gpu), { columns, rows } = data.rents, term = columns.indexOf("term");
    if (!own.length) return data;
    const of = { sure: true, confidence: "seen", date: "given", row: "" };
    const mine = own.map((rent) => columns.map((name) => rent[name] ?? of[name])), hour = columns.indexOf("usd_per_hour");
    const left = rows.filter((row) => row[columns.indexOf("gpu")] !== gpu || !own.some((rent) => rent.term === row[term]));
    return { ...data, rents: { columns, rows: [...left, ...mine].sort((a, b) => a[hour] - b[hour]) } };
  }

  // The answer

  const pricesOf = () => {
    const { own, file, date } = gpucalc.prices;
    return { date, note: own ? `Your prices, ${file}, lie over this book's.` : "" };
  };
  const nothing = (text = "") => (
    { faults: text ? [{ key: "", text }] : [], cards: [], cautions: [], options: [], flips: [], commands: [],
      prices: pricesOf() });

  function served(state, given) {
    const found = gpucalc.answerTo(given), known = word().facts(found), rows = rowsOf(found);
    const cards = found.best ? cardsOf(found, known) : [noCard(found, known, rows)];
    const there = found.best
      ? { cautions: word().cautions(known), flips: flipsOf(rows, state), commands: word().commands(found, known) } : {};
    return { found, known, shown: { ...nothing(), cards, options: optionsOf(rows), ...there } };
  }

  function made(state) {
    const given = gpucalc.jobOf(state);
    if (given.faults.length) return { shown: { ...nothing(), faults: given.faults } };
    try {
      return state.job === "rent_or_buy" ? { shown: owningAnswer(state, given.rents) } : served(state, given);
    } catch (error) {
      return { shown: nothing(error.message) };
    }
  }

  function known(state) {
    const key = JSON.stringify(state), found = held.get(key) ?? made(state);
    held.delete(key);
    held.set(key, found);
    if (held.size > KEPT) held.delete(held.keys().next().value);
    return found;
  }

  const answer = (state) => known(state).full ?? known(state).shown;

  // The answer with what further solves tell, one solve at a step.
  function* steps(state, shown) {
    const of = known(state), [binds, helps, turns] = [[], [], []];
    if (of.found && !of.full) {
      for (const each of gpucalc.binding(of.found)) yield binds.push(each);
      for (const each of gpucalc.helping(of.found)) yield helps.push(each);
      for (const each of gpucalc.turning(of.found)) yield turns.push(each);
      of.full = filled(of, gpucalc.sortedBinds(binds), gpucalc.sortedHelps(helps), turns.filter(Boolean));
    }
    return of.full ?? shown;
  }

  // What the other ways to get the work done add to the facts.
  function waysFacts(found, helps) {
    const served = gpucalc.owning && !gpucalc.trains(found.kind);
    return word().facts(found, served ? gpucalc.waysToServe(found.case, found.best, gpucalc.owning) : null, helps);
  }

  function filled({ found, known: facts, shown }, binds, helps, turns) {
    const [first] = word().helps(found, helps), texts = found.best ? word().binds(found, facts, binds) : [];
    const about = texts.map((_, k) => gpucalc.texts.limited[binds[k]?.[0]] ?? "cost"), last = found.best ? "cost" : "fits";
    const of = found.best ? waysFacts(found, helps) : facts;
    const ways = found.best ? cardsOf(found, of).find(({ id }) => id === "ways") : null;
    const help = first ? { text: first.text, change: { [first.change.name]: first.change.value } } : null;
    const cards = shown.cards.map((each) => ({ ...(each.id === "ways" ? ways ?? each : each),
      binds: texts.filter((_, k) => about[k] === each.id).join("; "), helps: (each.id === last && help) || each.helps }));
    const flips = word().turns(turns).map(({ change, text }) => ({ key: change.name, value: change.value, text }));
    return { ...shown, cards, cautions: found.best ? word().cautions(of) : [], flips: [...shown.flips, ...flips] };
  }

  function more(state, shown, hear) {
    const left = steps(state, shown);
    if (!hear) {
      for (;;) {
        const { done, value } = left.next();
        if (done) return value;
      }
    }
    const later = window.requestIdleCallback ?? ((f) => setTimeout(f, 1));
    let stopped = false;
    const next = () => {
      if (stopped) return;
      const { done, value } = left.next();
      if (done) hear(value);
      else later(next);
    };
    later(next);
    return () => { stopped = true; };
  }

  // Something of each script before this one: where one did not load there is no answer, rather than one in part.
  const PARTS = ["data", "owning", "catalogue", "Grid", "Case", "figures", "columns", "solve", "Points", "market", "rentOrBuy", "text",
    "rents", "configs", "readConfig", "readRents", "jobOf", "answerTo", "words"];
  if (PARTS.every((name) => gpucalc[name])) Object.assign(gpucalc, { answer, atOwnRents, more });
}
