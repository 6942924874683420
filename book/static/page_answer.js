// What the front page shows of a state: cards, options and what would flip the choice, from the answer and its words.
//
//   gpucalc.answer(state)                // { faults, cards, cautions, commands, prices }: what one solve gives
//   gpucalc.more(state, answer)          // the same with options, flips, what binds and what helps, which take further solves
//   gpucalc.more(state, answer, hear)    // the same to `hear`, options first, made in idle moments; returns what stops it;
//                                        // at the end with all that helps, and the layouts of the best GPU as options
//
// Cards are { id, title, big, low, plan, high, bound, scale, small, note, binds, helps, why, bar }, options { key, words, gpus, usd,
// low_usd, high_usd, reason, state }, flips { key, value, text }, commands { title, text, note, files }; likeness is what tells the plan
// from that of another case. Texts may hold what a price file says: text, never markup.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const KEPT = 8, TURN = 12; // answers; milliseconds until others have a turn
  const has = Object.hasOwn;
  const held = new Map(); // the last answers, by state
  const word = () => gpucalc.words, fill = (name, facts) => gpucalc.told.fill(name, facts), begun = (text) => gpucalc.told.begun([text])[0];
  const finite = (value) => (Number.isFinite(value) ? value : null);

  // Cards

  function card(id, title, parts, bar, [page, text], most = 0) {
    const { low, plan, high, bound } = bar ?? {}, ends = [low, high].filter(Number.isFinite).sort((a, b) => a - b);
    const values = [low, plan, high, bound, most].filter(Number.isFinite);
    return {
      id, title, ...parts, low: bar ? finite(Math.min(low, plan, high)) : null, plan: bar ? finite(plan) : null,
      high: bar && ends.length > 1 ? Math.max(plan, ...ends) : null, bound: finite(bound),
      scale: bar && Number.isFinite(plan) ? [0, 1.1 * Math.max(...values)] : null, binds: "", helps: null, why: { page, text },
      bar: bar ?? null,
    };
  }

  // The decision with how sure it is, and the cards as answer_words.py or owning_words.py makes them.
  const cardsOf = (made, known, big, note, why) => [
    card("decision", gpucalc.texts.decision, { big, small: fill("small_decision", known), note }, null, why),
    ...made.map(({ name, title, big: figure, small, note: said, page, link, bar }) =>
      card(name, title, { big: figure, small, note: said }, bar, [page, link], name === "fits" ? known.memory_bytes : 0))];
  const sure = (found) => fill("levels", { levels: word().levels({ ...found, levels: gpucalc.levelsOf(found) }) });
  const allCards = (found, known, note = "") => cardsOf(word().cards(found, known), known, fill("headline", known), note, ["measurements", "how wrong the formulas are"]);
  // Cards without a verdict, until all sides of it are known.
  const waiting = (cards, ...ids) => cards.map((each) => (ids.includes(each.id) ? { ...each, big: fill("comparing", {}), small: "", note: "", pending: true } : each));

  // Where nothing keeps the limits: what comes nearest.
  function noCard(found, known, rows) {
    const loosened = word().loosened(found, rows, known), near = word().nearest(found, rows, loosened);
    const note = fill("headline_none", { ...known, ...near }), [[text, row] = []] = loosened;
    const change = row && Number.isFinite(row.value) ? { [row.limit]: row.value * (1 + 1e-9) } : null;
    return { ...card("fits", gpucalc.texts.titles.fits, { big: fill("big_none", known), small: "", note }, null,
      gpucalc.texts.why[found.kind].fits), helps: change ? { text: begun(text), change } : null };
  }

  // Options and flips

  // Of each GPU its best choice, and what the others lack; with `names`, of the best GPU that of each of their values.
  function rowsOf(found, names) {
    const { kept } = found, { gpu = [] } = kept, columns = Object.entries(kept), first = new Map();
    gpu.forEach((each, place) => {
      const key = names ? names.map((name) => kept[name][place]).join() : each;
      if (!first.has(key) && (!names || each === gpu[0])) first.set(key, place);
    });
    return word().compared(names ? { ...found, lost: {} } : found,
      [...first.values()].map((place) => Object.fromEntries(columns.map(([name, column]) => [name, column[place]]))));
  }

  // The same with the case that each is.
  function optionsOf(rows, names = []) {
    const sold = (row) => row.holds && row.priced && row.most_rented === undefined;
    return rows.map((row) => ({
      key: `${row.gpu} ${row.offer ?? ""}`, words: fill("option", row.holds ? row : { gpu: row.gpu }),
      gpus: row.holds ? row.gpus : null, usd: row.holds && row.priced ? row.objective : null,
      low_usd: row.priced ? row.low_objective ?? null : null, high_usd: row.priced ? row.high_objective ?? null : null,
      reason: row.reason || fill("option_best", row),
      state: sold(row) ? { cards: row.gpu, ...(row.yours ? {} : { provider: row.provider }), term: row.term,
        ...Object.fromEntries(names.map((name) => [name, row[name]])) } : null,
    }));
  }

  // The rent at which another GPU wins is tried as a rent of the reader's own.
  function flipsOf(rows, state) {
    if (has(state, "rents")) return [];
    const below = (turn) => Number((turn * 0.999).toPrecision(4));
    return word().flips(rows).filter(([row, turn]) => turn < row.usd_per_hour)
      .map(([row, turn, text]) => ({ key: "rents", text: begun(text), value: `gpu,usd_per_hour,term\n${row.gpu},${below(turn)},${row.term}` }));
  }

  // Rent or buy

  function owningAnswer(state, rents) {
    if (!gpucalc.owning) return nothing(fill("lacks", { lacks: "book" }));
    const data = { ...gpucalc.owning, own: rents }, found = gpucalc.rentOrBuy(state, data), words = gpucalc.owning_words;
    const known = { kind: "own", gpu: state.gpu, lacks: found.lacks, sure: state.sure ?? data.inside };
    if (found.lacks) return nothing(fill("lacks", known));
    Object.assign(known, word().plain(words.of_deal(found)));
    const turns = words.turning(found, gpucalc.catalogue.jobs[state.job].takes);
    return { ...nothing(), cards: cardsOf(words.cards(found, known), known, fill("headline_own", known), "", ["break_even", "how the draws are made"]),
      flips: turns.map(([key, value, text]) => ({ key, value: Number(value.toPrecision(6)), text: begun(text) })) };
  }

  // The answer, in which a price is as old as it is on the day of the reader.
  const dated = () => ({ ...gpucalc.prices, today: new Date().toISOString().slice(0, 10) });
  const nothing = (text = "") => {
    const faults = text ? [{ key: "", text }] : [], { own_book: own, book, book_date: date } = gpucalc.prices;
    return { faults, cards: [], cautions: [], options: [], flips: [], commands: [], prices: { date, note: own ? `Your prices, ${book}, lie over this book's.` : "" } };
  };

  function served(state, given) {
    const found = { ...gpucalc.answerTo(given), helps: [] }, known = word().case_facts(found, dated());
    if (!found.best) {
      const rows = rowsOf(found);
      return { found, known, shown: { ...nothing(), cards: [noCard(found, known, rows)], options: optionsOf(rows) } };
    }
    const { options, flips, ...rest } = nothing(), likeness = word().likeness(found);
    const held = { cautions: word().cautions(known), commands: word().commands(found, known), likeness };
    return { found, known, shown: { ...rest, cards: waiting(allCards(found, known), "decision", "ways"), ...held } };
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

  // The answer with what further solves tell, one solve at a step; what is to be shown before the end is yielded.
  function* steps(state, shown) {
    const of = known(state), [binds, helps, turns] = [[], [], []];
    if (of.found && !of.full) {
      if (!of.decided) yield* decide(of);
      const ranged = gpucalc.ranged(of.found), rows = rowsOf(ranged);
      const flips = ranged.best ? flipsOf(rows, state) : [];
      yield of.shown = { ...of.shown, options: optionsOf(rows), flips };
      for (const each of gpucalc.binding(of.found)) yield void binds.push(each);
      for (const each of gpucalc.helping(of.found, binds)) yield void helps.push(each);
      for (const each of gpucalc.turning(of.found)) yield void turns.push(each);
      const found = { ...ranged, binds: gpucalc.sortedBinds(binds), helps: gpucalc.sortedHelps(helps) };
      of.full = filled(of, found, turns.filter(Boolean));
    }
    return of.full ?? shown;
  }

  // What is decided: the other ways to serve the load, and what the plan costs by how sure it is.
  function* decide(of) {
    const { found } = of, others = found.best && gpucalc.owning && !gpucalc.trains(found.kind);
    found.ways = others ? gpucalc.waysToServe(found.case, found.best, gpucalc.owning) : null;
    yield;
    const note = sure(found);
    of.decided = true;
    of.known = found.best ? word().case_facts(found, dated(), found.ways) : of.known;
    const cards = found.best ? waiting(allCards(found, of.known, note), others ? "" : "ways") : of.shown.cards.map((each) => ({ ...each, small: note }));
    yield of.shown = { ...of.shown, cards, cautions: found.best ? word().cautions(of.known) : [] };
  }

  // The answer as soon as it is decided.
  function decided(state) {
    for (const shown of steps(state)) if (shown) return shown;
    return answer(state);
  }

  function filled({ known: facts, shown }, found, turns) {
    const { binds } = found;
    const texts = found.best ? gpucalc.told.begun(word().binds(found, facts)) : [];
    const about = texts.map((_, k) => gpucalc.texts.limited[binds[k]?.[0]] ?? "cost"), last = found.best ? "cost" : "fits";
    const of = found.best ? word().case_facts(found, dated(), found.ways) : facts;
    const ways = found.best ? word().cards(found, of).find(({ name }) => name === "ways") : null;
    const helps = word().helps(found).map((each) => ({ text: begun(word().helping(found, each)), change: gpucalc.changed(each.change) }));
    const cards = shown.cards.map((each) => ({ ...each, ...(each.id === "ways" && ways ? { big: ways.big, small: ways.small, note: ways.note, pending: false } : {}),
      binds: texts.filter((_, k) => about[k] === each.id).join("; "), helps: (each.id === last && helps[0]) || each.helps }));
    const flips = turns.map(({ change, gpu }) => ({ key: change.name, value: change.value, text: begun(word().turned(change, gpu)) }));
    const degrees = gpucalc.data.keys[found.kind].filter((name) => gpucalc.cases.takes(found.case.rows.job.name, name) && name !== "gpu");
    const layouts = found.best ? optionsOf(rowsOf(found, degrees), degrees) : [];
    return { ...shown, cards, helps, layouts, cautions: found.best ? word().cautions(of) : [], flips: [...shown.flips, ...flips] };
  }

  function more(state, shown, hear) {
    const left = steps(state, shown);
    if (!hear) return [...left] && answer(state);
    const later = window.requestIdleCallback ?? ((f) => setTimeout(f, 1));
    let stopped = false;
    const next = () => {
      if (stopped) return;
      const until = performance.now() + TURN;
      let step = left.next();
      while (!step.done && !step.value && performance.now() < until) step = left.next();
      if (step.value) hear(step.value);
      if (!step.done) later(next);
    };
    later(next);
    return () => { stopped = true; };
  }

  // Something of each script before this one: where one did not load there is no answer, rather than one in part.
  const PARTS = ["data", "owning", "catalogue", "Grid", "Case", "figures", "columns", "solve", "Points", "market", "rentOrBuy", "text",
    "rents", "configs", "readConfig", "readRents", "jobOf", "answerTo", "words"];
  if (PARTS.every((name) => gpucalc[name])) Object.assign(gpucalc, { answer, decided, more });
}
