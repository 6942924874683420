// The answer in words, as gpucalc/decisions/answer_words.py says it: its facts put into the texts of answer_texts.py, gpucalc.texts.
//
//   gpucalc.words.facts(found)              // what sentences about an answer name
//   gpucalc.words.fill("headline_serve", facts)
//   gpucalc.words.cards(found, facts), cautions(facts), choices(found), binds(found, facts, binds), helps(found, helps), flips(rows)
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const has = Object.hasOwn;
  const texts = () => gpucalc.texts;
  const finite = (value) => (typeof value === "string" ? value !== "" : Number.isFinite(value));

  // Printed from answer_words.py.
  const { fill, said_verdict: saidVerdict, turning_rent: turningRent, _of_kind: ofKind, _layout: layout, _against: against,
    _value: valueText } = gpucalc.told;
  const begun = (text) => gpucalc.told.begun([text])[0];

  function plain(values) {
    const held = {};
    for (const name of Object.keys(values)) if (finite(values[name])) held[name] = values[name];
    return held;
  }
  const names = (rows) => Object.fromEntries(Object.entries(rows).map(([kind, row]) => [kind, row.name]));

  // Facts

  function facts(found, ways = null, helps = []) {
    const { case: whole, kind, best } = found, { prices } = gpucalc;
    const known = { kind, own_book: Number(prices.own), book: prices.file, book_date: prices.date, stale_days: prices.stale_days,
      ...names(whole.rows) };
    for (const name of texts().named) known[name] = given(whole, name);
    if (kind === "serve") known.in_time = 100 * (1 - meant(whole, "late_share"));
    if (gpucalc.trains(kind)) {
      Object.assign(known, { step_tokens: known.sequence * known.global_batch, most_gpus: given(whole, "gpus") });
    }
    return best ? { ...plain(known), ...ofBest(found), ...ofWays(ways, best[found.objective]), ...onSpot(helps), kind } : plain(known);
  }

  // A value that the case has; NaN for one that it has not, as told before it is used.
  function given(whole, name) {
    try {
      return gpucalc.valueOf(whole, name).number;
    } catch {
      return NaN;
    }
  }

  // The same, of a row, or what formulas take where nothing is given.
  function meant(whole, name) {
    const row = Object.values(whole.rows).find((each) => has(each, name));
    return whole.inputs[name] === undefined ? row?.[name] ?? gpucalc.data.defaults[name] ?? NaN : given(whole, name);
  }

  function ofBest(found) {
    const known = choice(found, found.best);
    for (const [name, { low, plan, high, bound }] of Object.entries(found.figures)) {
      Object.assign(known, { [`${name}_low`]: Math.min(low, high), [`${name}_plan`]: plan,
        [`${name}_high`]: Math.max(low, high), [`${name}_bound`]: bound ?? Infinity });
    }
    return plain(known);
  }

  // What the cheapest of the other ways cost, where their prices are firm, and which is the cheapest: of renting and owning the
  // draws say it, and an API has to be below both at today's prices.
  function ofWays(ways, rent) {
    if (!ways) return {};
    const known = {}, { owned, api } = gpucalc.owning.ways, { level, owning } = ways;
    let house = "rent", least = rent;
    for (const [name, way] of [["own", owned], ["api", api]]) {
      const row = ways.rows.find((each) => each.way === way && !each.doubt);
      for (const part of row ? ["usd", "who"] : []) known[`${name}_${part}`] = row[part];
    }
    if (has(known, "own_usd")) {
      const { ranges } = owning.deal;
      Object.assign(known, { rent_level: level, own_years: ranges.years[1], rent_fall: ranges.rent_decline?.[1] ?? Infinity,
        verdict: saidVerdict(owning.verdict) });
      if (owning.verdict.cheaper === "owning") [house, least] = ["own", Math.min(rent, known.own_usd * rent / level)];
    }
    if (Object.keys(known).length) known.way = known.api_usd < least ? "api" : house;
    return plain({ ...known, api_below: ways.below || Infinity });
  }

  // What the same would cost on machines that can be taken back, where that is less.
  function onSpot(helps) {
    const found = helps.find(({ change }) => change.name === "term");
    if (!found) return {};
    const named = ["gpu", "gpus", "provider", "sole"].map((name) => [`spot_${name}`, found.choice[name]]);
    return plain({ spot_usd: found.after, ...Object.fromEntries(named) });
  }

  // The facts of one choice: of its row, and what follows from it.
  function choice({ kind, objective }, row) {
    const known = plain(row), put = (name, value, when) => when in known && (known[name] = value());
    if (gpucalc.trains(kind)) {
      const degrees = known.tensor_parallel * known.pipeline_parallel * known.context_parallel;
      put("data_parallel", () => Math.max(Math.floor((known.gpus * (known.trainer_share ?? 1)) / degrees), 1), "tensor_parallel");
    } else {
      const [tensor, attention, pipeline] = ["tensor", "attention", "pipeline"].map((each) => known[`${each}_parallel`] ?? 1);
      Object.assign(known, { replica_gpus: tensor * attention * pipeline, expert_gpus: tensor * attention });
      known.gpus = known.rented_gpus ?? known.replica_gpus;
      put("planned_replicas", () => known.window_replicas, "window_replicas");
      const apart = known.all_replicas - known.planned_replicas;
      if (apart > 0) known.prefill_replicas = apart;
      put("places", () => Math.floor(known.replica_places), "replica_places");
      put("spare", () => known.planned_replicas - known.replicas_required, "replicas_required");
    }
    put("lost_share", () => 1 - 1 / known.interruption_slowdown, "interruption_slowdown");
    put("servers", () => known.gpus / known.gpus_per_server, "gpus_per_server");
    for (const end of ["", "low_", "high_", "sure_"]) {
      put(`${end}objective`, () => known[`${end}${objective}`], `${end}${objective}`);
    }
    put("time", () => known[texts().times[kind]], texts().times[kind]);
    return { ...known, stale: Number(row.stale ?? 0), yours: Number(row.yours ?? 0) };
  }

  // The answer

  function cards({ kind, figures }, known) {
    return Object.entries(texts().titles).map(([name, title]) => {
      const [big, small, note] = ["big", "small", "note"].map((part) => fill(ofKind(`${part}_${name}`, kind), known));
      const [page, link] = texts().why[kind][name], bar = texts().bars[kind]?.[name] ?? name;
      return { name, title, big, small, note, page, link, bar: figures[bar] ?? null };
    });
  }

  // What runs the best choice, as engine_flags.py says it: { title, text, note }, one for all replicas or one for each kind.
  function commands({ case: whole, kind, best }, known) {
    if (!best || gpucalc.trains(kind)) return [];
    const { model } = whole.rows, named = Object.fromEntries(texts().engine.map((name) => [name, meant(whole, name)]));
    const held = { mtp_layers: 0, prompt_chunk: 0, ...plain(named), ...known,
      repository: model.repository || model.name, native_format: model.native_format || "BF16" };
    held.placed = Number(held.repository.includes("/"));
    held.native_bytes = gpucalc.rowNamed("weight_format", held.native_format).weight_element_bytes;
    const groups = held.attention_parallel || 1, degree = (held.tensor_parallel || 1) * (held.pipeline_parallel || 1);
    if ("batch" in held) held.rank_batch = Math.ceil(held.batch / groups);
    if ("batch" in held) held.step_tokens = held.prompt_chunk + held.rank_batch * (1 + (held.drafted || 0));
    if ("gpus_per_server" in held) {
      held.local_groups = Math.max(Math.floor(held.gpus_per_server / degree), 1);
      held.replica_servers = Math.ceil(groups * degree / held.gpus_per_server);
    }
    return roles(held).map((each) => ({ title: fill(each.role ? `run_${each.role}` : "run", each),
      text: fill("command", each), note: fill("run_note", each).trim() }));
  }

  function roles(held) {
    if (!held.prefill_replicas) return [held];
    return texts().roles.map((role) => ({ ...held, role, ...(role === "prefill" && { planned_replicas: held.prefill_replicas }) }));
  }

  // Every choice with `layout`, `holds` and `reason`: at these places of what keeps the limits, the best first, then others.
  function choices(found, places = found.kept.gpu?.map((_, place) => place) ?? []) {
    const { kept, lost, kind } = found;
    const there = places.map((place) => Object.fromEntries(Object.entries(kept).map(([name, column]) => [name, column[place]])));
    const rows = there.map((row) => ({ ...choice(found, row), holds: true }));
    for (const row of rows) {
      row.layout = layout(row, kind);
      row.reason = row === rows[0] ? "" : fill("later", { ...row, ...against(row, rows[0]) });
    }
    const cache = gpucalc.limits.named.cache_element_bytes[found.case.inputs.cache_element_bytes];
    const of = { ...plain(names(found.case.rows)), sure: given(found.case, "sure"),
      ...(cache && cache !== texts().cache ? { cache_format: cache } : {}),
      ...(gpucalc.trains(kind) ? {} : { weights: gpucalc.valueOf(found.case, "weight_bytes").number }) };
    for (const [gpu, { limit, value, most, step, row: nearest }] of [...lost].sort(nearer)) {
      const row = { ...of, ...choice(found, nearest), ...plain({ value, most }), gpu,
        limit: typeof limit.most === "string" ? limit.most : "", holds: false };
      rows.push({ ...row, layout: step ? layout(row, kind) : "", reason: fill(`lost_${limit.of}`, row) });
    }
    return rows;
  }

  // How far GPUs that lost are from a choice: by their step, then by how much of the limit they break.
  const over = ({ value, most }) => (most ? value / most : Infinity);
  const nearer = ([, one], [, other]) => other.step - one.step || (over(one) === over(other) ? 0 : over(one) - over(other));

  function binds({ case: whole }, known, found) {
    const said = found.map(([limit, share]) => fill("binds", { limit, most: gpucalc.valueOf(whole, limit).number, share }));
    return (said.length ? said : [fill("binds_none", known)]).map(begun);
  }

  function helps({ kind, best, objective }, found) {
    const before = best ? best[objective] : Infinity;
    const told = ({ change, after }) => 1 - after / before >= texts().worth && !(best && change.name === "term");
    return found.filter(told).map(({ change, after }) => {
      const known = { kind, before, after, less: 1 - after / before, words: change.words, value_text: valueText(change) };
      return { change, text: begun(fill("helps", plain(known))) };
    });
  }

  // Of each limit of the case that stops a GPU, what the nearest would need, as [text, row].
  function loosen({ kind }, rows, known) {
    const found = new Map();
    for (const row of rows.filter((each) => !each.holds && gpucalc.data.free[kind].includes(each.limit) && "value" in each)) {
      if (!(found.get(row.limit)?.value <= row.value)) found.set(row.limit, row);
    }
    const budget = known.budget_usd ?? known.usd_per_month, of = budget === undefined ? {} : { budget };
    return [...found.values()].map((row) => [begun(fill("loosen", { ...row, ...of, nearest: row.gpu })), row]);
  }

  // The rents at which the nearest other GPUs win, as { row, turn, text }.
  function flips(rows) {
    const [best] = rows, found = [], seen = new Set([best.gpu]);
    for (const row of rows.slice(1)) {
      if (row.holds && !seen.has(row.gpu) && found.length < texts().flips) {
        seen.add(row.gpu);
        const turn = turningRent(row, best);
        const [one, other] = [turn, row.usd_per_hour].map(gpucalc.figures.hourly);
        found.push({ row, turn, text: begun(fill("flip_rent", { ...row, turn, close: Number(one === other) })) });
      }
    }
    return found;
  }

  const turns = (found) => found.map(({ change, gpu }) => ({ change,
    text: begun(fill("flip_turn", { value_text: valueText(change), words: change.words, gpu })) }));

  // What to be careful of with the best choice.
  const cautions = (known) => texts().cautions.map((name) => fill(`caution_${name}`, known)).filter(Boolean);

  gpucalc.words = { begun, binds, cards, cautions, choices, commands, facts, fill, flips, helps, loosen, ofKind, saidVerdict, turns };
}
