// What a decision chooses among, as gpucalc/decisions/market.py makes it of the rows and offers in `gpucalc.data`.
//
//   gpucalc.row("models", "Llama-3-70B")      // a row for a Case
//   gpucalc.market(job, "serve")              // tables by name, for gpucalc.solve; an Error where the book has no such offer
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const numbers = (list) => Float64Array.from(list, (value) => (value === null ? NaN : Number(value)));
  const text = ({ texts, at }) => at.map((place) => texts[place]);

  // Whether a job of the kind is a run on machines that are rented for it.
  const trains = (kind) => (gpucalc.data.like[kind] ?? kind) === "train";

  // What two rows of a case tell together, by quantity: their kinds, and the value or undefined.
  gpucalc.joined = { narrow_products: [["gpu", "weight_format"], ({ gpu, weight_format: stored }) =>
    (gpu && stored ? halvings(gpu.name, stored.name) : undefined)] };

  // What is asked for has no price in the book.
  class MissingPrice extends Error {}

  // The row of a table by its name; a job has no blanks.
  function row(table, name) {
    if (table === "jobs") return { ...gpucalc.data.jobs[name], name };
    const columns = gpucalc.data[table], place = columns.name.indexOf(name);
    if (place < 0) throw new Error(`${table} has no ${name}; allowed: ${columns.name.join(", ")}`);
    return Object.fromEntries(Object.entries(columns).map(([column, values]) => [column, values[place]]));
  }

  // What the case wants of a choice in words: a list, or null for any.
  function wanted(job, name) {
    const said = job.rows[name]?.name;
    return said === undefined || said === "any" ? null : said.split(", ");
  }

  // The offers to rent that the case wants: the cheapest firm one of each provider, GPU, size of server and term. A case that says no
  // term wants what can be had for sure: on demand. The reader's own cards are the one offer where a case has some. Where no card
  // that it names has a firm rent there is one of each in small servers, not `priced`.
  function offersOf(job, kind, book) {
    const named = wanted(job, "cards"), has = job.inputs.own_cards !== undefined;
    const { usual_term: usual, unpriced } = gpucalc.data;
    let offers = has ? own(job, named) : book, read = readOf(offers);
    const asked = has ? null : wanted(job, "term") ?? (job.rows.term === undefined ? [usual] : null);
    const seller = has ? {} : { provider: wanted(job, "provider"), region: wanted(job, "region"), term: asked };
    let found = firm(selected(seller, read, offers).filter((place) => !named || named.includes(read.gpu[place])), read, offers);
    if (named && !found.some((place) => offers.sure[place])) {
      offers = unsold(named.flatMap((gpu) => unpriced.map((size) => [gpu, size])), asked?.[0] ?? usual);
      [read, found] = [readOf(offers), offers.usd_per_hour.map((_, place) => place)];
    }
    const of = (column) => found.map((place) => column[place]), gpus = of(read.gpu), terms = of(read.term);
    const card = (name) => gpus.map((gpu) => cell(gpu, name));
    const sizes = of(offers.gpus_per_server), years = of(offers.reserved_years);
    const unsuited = (term) => (term in gpucalc.data.terms || (!trains(kind) && term === "spot")) && !asked?.includes(term);
    const columns = {
      offer: found.map((_, k) => k), gpus_per_server: sizes, usd_per_hour: of(offers.usd_per_hour),
      reserved_years: years.map((each) => each ?? 1), reserved: years.map((each) => each !== null),
      spot: terms.map((term) => term === "spot"), doubtful_price: found.map((place) => !offers.sure[place]),
      doubtful_term: found.map((place, k) => unsuited(terms[k]) && !offers.yours[place]),
      consumer: card("forbidden"), forbidden: card("forbidden").map((each) => each && !named), no_ecc: card("no_ecc"),
      arm_host: card("arm_host"),
      priced: of(offers.usd_per_hour).map((usd) => usd > gpucalc.data.no_price),
      most_rented: found.map(() => job.inputs.own_cards ?? Infinity),
      unmeasured: card("unmeasured").map((each) => each && !trains(kind)), stale: of(offers.stale), yours: of(offers.yours),
      sole: sole(found, read, offers),
    };
    return {
      gpu: gpus, provider: of(read.provider), region: of(read.region), term: terms, date: of(read.date),
      row: found.map((place) => `${gpucalc.data.file}: ${rowOf(read, place)}`), kind: gpus.map((gpu, k) => `${gpu} x ${sizes[k]}`),
      ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, numbers(values)])),
    };
  }

  const readOf = (offers) => Object.fromEntries(["gpu", "term", "provider", "sku", "region", "rest", "date"].map((name) =>
    [name, text(offers[name])]));

  // The cards that the reader has, as an offer at what their power costs; not priced where a case has no price of power.
  function own(job, [gpu]) {
    const { own_cards: cards, gpus_per_server: size = cards, usd_per_kwh: power } = job.inputs;
    const at = job.but({ tdp_watts: cell(gpu, "tdp_watts"), pue: gpucalc.data.assumptions.pue[1] });
    const usd = power === undefined || cell(gpu, "tdp_watts") === null ? 0 : gpucalc.valueOf(at, "power_usd_per_hour").number;
    return unsold([[gpu, size]], gpucalc.data.owned, Math.max(usd, gpucalc.data.no_price));
  }

  // Offers that no book has, of pairs of a GPU and a size of server.
  const unsold = (kinds, term, usd_per_hour = gpucalc.data.no_price) => offersWith(kinds.map(([gpu, gpus_per_server]) =>
    ({ gpu, gpus_per_server, provider: "", region: "", term, usd_per_hour })), []);

  // The key of an offer in the book; a reader's own is in none.
  function rowOf({ gpu, provider, sku, region, term, rest }, place) {
    return sku[place] === null ? `yours, ${gpu[place]}, ${term[place]}`
      : `${[provider, sku, region, term].map((column) => column[place]).join(", ")}${rest[place]}`;
  }

  // Places of the offers with these values, each of which must be there; null allows all.
  function selected({ region, ...asked }, read, { yours }) {
    const wide = region?.some((each) => gpucalc.data.areas.names.includes(each));
    let left = read.gpu.map((_, place) => place).filter((place) => !wide || stands(region, read.region[place], yours[place]));
    for (const [name, values] of Object.entries({ provider: asked.provider, region: wide ? null : region, term: asked.term })) {
      if (!values) continue;
      const there = new Set(left.map((place) => read[name][place]));
      const missing = values.find((value) => !there.has(value));
      if (missing !== undefined) {
        const allowed = [...there].sort().join(", ");
        throw new MissingPrice(`${gpucalc.data.file}: no price for ${name} '${missing}'; ${name} is one of ${allowed}`);
      }
      left = left.filter((place) => values.includes(read[name][place]));
    }
    return left;
  }

  // Whether an offer stands in one of the regions or areas, or is the reader's own and says none.
  const stands = (wanted, region, yours) => {
    const { names: areas, of } = gpucalc.data.areas, wide = wanted.some((each) => areas.includes(each));
    return wanted.includes(region) || (wide && (wanted.includes(of[region]) || of[region] === "any" || Boolean(yours && region === "not stated")));
  };

  // Of each provider, GPU, size and term the cheapest, one that is not sure only where no other is; the cheapest first.
  function firm(places, read, offers) {
    const seen = new Set();
    return [...places].sort((one, other) => offers.sure[other] - offers.sure[one]).filter((place) => {
      const key = [read.provider[place], read.gpu[place], offers.gpus_per_server[place], read.term[place]].join("|");
      return !seen.has(key) && seen.add(key);
    }).sort((one, other) => offers.usd_per_hour[one] - offers.usd_per_hour[other]);
  }

  // Which prices stand alone, and so are not firm: no second provider's, and not the reader's own.
  function sole(places, read, offers) {
    const sellers = new Map(), key = (place) => `${read.gpu[place]}|${read.term[place]}`;
    read.provider.forEach((provider, place) => {
      if (offers.sure[place]) sellers.set(key(place), (sellers.get(key(place)) ?? new Set()).add(provider));
    });
    return places.map((place) => !offers.yours[place] && !(sellers.get(key(place))?.size > 1));
  }

  // Of these GPUs what can be compared: columns of numbers without a blank. One whose link is not known has 0 for a blank, since
  // no law sees it.
  function columnsOf(names) {
    const { gpus } = gpucalc.data, at = new Map(gpus.name.map((name, place) => [name, place]));
    const places = names.map((name) => at.get(name)), different = [...new Set(places)], found = { gpu: names };
    for (const [name, column] of Object.entries(gpus)) {
      const known = (place) => typeof column[place] === "number" || (column[place] === null && gpus.latency[place] === null);
      if (!different.every(known)) continue;
      found[name] = new Float64Array(places.length);
      for (let k = 0; k < places.length; k++) found[name][k] = column[places[k]] ?? 0;
    }
    const unlinked = (name) => cell(name, "latency") === null;
    return { ...found, unlinked: numbers(names.map(unlinked)) };
  }

  const place = (gpu) => gpucalc.data.gpus.name.indexOf(gpu);
  const cell = (gpu, column) => gpucalc.data.gpus[column][place(gpu)];

  // How often a card halves the 16 bits of products in the format.
  const halvings = (gpu, format) => {
    const held = gpucalc.data.narrow[format];
    return held?.gpus.includes(place(gpu)) ? held.halvings : 0;
  };

  // The cards of the offers and those that the case names.
  const namesOf = (job, offers) => [...new Set([...offers.gpu, ...(wanted(job, "cards") ?? [])])];

  // These cards, with their links, and whether they lack a path for the format of the case.
  function cardsOf(job, offers) {
    const format = job.rows.weight_format?.name, names = namesOf(job, offers), rented = new Set(offers.gpu);
    const { lacking, lacking_cache: cached } = gpucalc.data, width = String(job.inputs.cache_element_bytes);
    const context = job.inputs.max_context ?? job.rows.model.max_context ?? Infinity;
    const lacks = (name) => [lacking[format], cached[width]].some((without) => without?.includes(place(name)));
    return {
      ...columnsOf(names), unrented: numbers(names.map((name) => !rented.has(name))), lacks_format: numbers(names.map(lacks)),
      narrow_products: numbers(names.map((name) => halvings(name, format))), network_bandwidth: numbers(names.map(() => gpucalc.data.networks[1].network_bandwidth)),
      network_latency: numbers(names.map(() => gpucalc.data.networks[1].network_latency)), most_context: numbers(names.map(() => context)),
    };
  }

  // The degrees and batches of a replica that are tried: those that the case gives, else where they can help the model, on no more
  // GPUs than the reader has.
  function replicaDegrees(job, cards) {
    const { server, replicas } = gpucalc.data, spread = job.rows.model.experts > 0;
    const sizes = [...cards.memory_bytes].sort((a, b) => a - b), half = sizes.length / 2;
    const middle = (sizes[Math.ceil(half) - 1] + sizes[Math.floor(half)]) / 2;
    const large = gpucalc.valueOf(job, "weight_bytes").number > server * middle;
    const given = (name, values) => (job.inputs[name] === undefined ? values.filter((each) => !(each > job.inputs.own_cards)) : [gpucalc.valueOf(job, name).number]);
    return {
      tensor_degrees: given("tensor_parallel", replicas.tensor),
      attention_groups: given("attention_parallel", spread ? replicas.groups : [1]),
      serving_stages: given("pipeline_parallel", large ? replicas.stages : [1]),
      batches: spread ? [...replicas.batches, ...replicas.more_batches] : replicas.batches, kept_shares: "turns" in job.inputs ? replicas.kept : [1],
    };
  }

  // Numbers of GPUs to try: 1, 2, 3, 4, 6, 8, 12 ... machines, up to `gpus`.
  function machineCounts(size, gpus) {
    const found = new Set();
    for (let count = size; count <= gpus; count *= 2) found.add(count).add(3 * count);
    return [...found].filter((count) => count <= gpus).sort((one, other) => one - other);
  }

  // Each card in each size of server, in each number of GPUs up to the case's, joined by the usual networks. Of a server with
  // more GPUs than the case's there is one, of a card that is not rented one card.
  function clustersOf(job, offers) {
    const names = namesOf(job, offers), rented = new Set(offers.gpu), kinds = new Map();
    const most = Math.min(gpucalc.valueOf(job, "gpus").number, job.inputs.own_cards ?? Infinity);
    offers.gpu.forEach((gpu, k) => kinds.set(offers.kind[k], { gpu, kind: offers.kind[k], size: offers.gpus_per_server[k] }));
    for (const gpu of names.filter((name) => !rented.has(name))) kinds.set(`${gpu} x 1`, { gpu, kind: `${gpu} x 1`, size: 1 });
    const counts = (size) => (size > most ? [size] : machineCounts(size, most));
    const { names: split, known, none } = publishedOf(job);
    const crossed = (each) => counts(each.size).flatMap((gpus) => known.map((degrees) => ({ ...each, gpus, degrees })));
    const found = [...kinds.values()].flatMap(crossed);
    const format = job.rows.recipe.compute_format ?? "BF16", near = (size) => Number(size >= gpucalc.data.server);
    const of = (f) => numbers(found.map(f)), machines = of((each) => each.gpus / each.size), sizes = of((each) => each.size);
    const plain = (gpu) => cell(gpu, "peak_format") !== "BF16";
    const lacks = { BF16: plain, FP32: () => false }[format] ?? ((gpu) => !halvings(gpu, format));
    // Servers of one rack, such as the trays of an NVL72, are one node.
    const rack = (gpu) => (cell(gpu, "reach") > gpucalc.data.server ? cell(gpu, "reach") : 0);
    const { args, defaults, run } = gpucalc.laws.excess_machines;
    const given = { machines: [machines, -1], gpus_per_server: [sizes, -1] }, beyond = new Float64Array(found.length);
    run(beyond, beyond.length, ...args.flatMap((name) => given[name] ?? [[defaults[name]], 0]));
    // As in the search over layouts, whose errors are known without what a collective takes to start.
    const { base_latency: _, ...cards } = columnsOf(found.map((each) => each.gpu));
    return {
      ...cards, kind: found.map((each) => each.kind), unpublished: of(() => none),
      ...Object.fromEntries(split.map((name, k) => [name, of((each) => each.degrees[k])])),
      gpus_per_server: sizes, gpus_per_node: of((each) => Math.max(each.size, rack(each.gpu))), gpus: of((each) => each.gpus),
      machines, excess_machines: beyond, narrow_products: of((each) => halvings(each.gpu, format)),
      unrented: of((each) => !rented.has(each.gpu)), lacks_format: of((each) => lacks(each.gpu)), most_gpus: of(() => most),
      ...gpucalc.columns.mapped({ network_bandwidth: 0, network_latency: 0 }, (_, name) => of((each) => gpucalc.data.networks[near(each.size)][name])),
    };
  }

  // The splits that published runs of such a model had, where the case wants no others, and whether there are none.
  function publishedOf(job) {
    if (!job.inputs.published_only) return { names: [], known: [[]], none: 0 };
    const { names, runs } = gpucalc.data.published, params = gpucalc.valueOf(job, "params").number;
    const alike = ([sparse, size]) => sparse === job.rows.model.experts > 0 && 1 / 2 <= size / params && size / params <= 2;
    const known = [...new Set(runs.filter(alike).map(([, , degrees]) => degrees.join()))].map((each) => each.split(",").map(Number));
    return { names, known: known.length ? known : [names.map(() => 1)], none: Number(!known.length) };
  }

  // The degrees that are tried where they depend on the job.
  function degreesOf(job) {
    const adapted = job.rows.recipe.lora_rank > 0;
    const run = {
      whole: !adapted, adapted, long: gpucalc.valueOf(job, "sequence").number > gpucalc.data.long_sequence,
      experts: job.rows.model.experts > 0,
    };
    return Object.fromEntries(Object.entries(gpucalc.data.tried).map(([name, [kind, each]]) => [name, run[kind] ? each : [1]]));
  }

  // Ends of the assumptions that a run is stopped by: the longer between stops, the faster.
  const assumed = () => Object.fromEntries(gpucalc.data.spread.flatMap((name) => {
    const [low, likely, high] = gpucalc.data.assumptions[name];
    return [[`fast_${name}`, high], [`likely_${name}`, likely], [`slow_${name}`, low]];
  }));

  // Offers with rents of the reader's own, as readRents gives them, in place of all of the same GPUs and terms, quotes beside them.
  function offersWith(rents, left) {
    const { offers } = gpucalc.data, of = { sure: 1, yours: 1, stale: 0, date: "given", sku: null, rest: null };
    if (!rents.length) return offers;
    const said = new Set(rents.filter(({ quote }) => !quote).map((each) => `${each.gpu}|${each.term}`));
    const years = ({ term }) => gpucalc.reading?.rents.reserved_years[term] ?? null;
    return tableOf([...left ?? rowsOf(offers).filter(({ gpu, term }) => !said.has(`${gpu}|${term}`)),
      ...rents.map((rent) => ({ ...rent, ...of, reserved_years: years(rent) }))], offers);
  }

  // Offers as rows, and back.
  function rowsOf(offers) {
    const columns = Object.entries(offers).map(([name, given]) => [name, given.texts ? text(given) : given]);
    return offers.usd_per_hour.map((_, k) => Object.fromEntries(columns.map(([name, cells]) => [name, cells[k]])));
  }

  const tableOf = (rows, offers) => Object.fromEntries(Object.entries(offers).map(([name, given]) => {
    const cells = rows.map((row) => row[name]);
    return [name, given.texts ? { texts: cells, at: cells.map((_, k) => k) } : cells];
  }));

  // Markets of cases that want the same are one, so that the rule knows them again.
  const kept = new Map();

  function market(job, kind, rents = []) {
    const names = ["job", "cards", "provider", "region", "term", "weight_format", "discount"].map((name) => job.rows[name]?.name);
    const { recipe = {}, model = {} } = job.rows, given = ["max_context", "cache_element_bytes", "gpus", "sequence", "own_cards",
      "gpus_per_server", "usd_per_kwh", "turns", "published_only", "tensor_parallel",
      "attention_parallel", "pipeline_parallel"];
    const sizes = given.map((name) => (job.inputs[name] === undefined ? null : job.value(name).number));
    const size = kind === "train" ? 0 : gpucalc.valueOf(job, "weight_bytes").number;
    const key = JSON.stringify([kind, names, recipe.compute_format, recipe.lora_rank, job.inputs.published_only && model.name, model.experts, model.max_context, size, sizes, rents]);
    if (!kept.has(key)) kept.set(key, marketOf(job, kind, rents));
    if (kept.size > 16) kept.delete(kept.keys().next().value);
    return kept.get(key);
  }

  function marketOf(job, kind, rents) {
    const book = offersWith(rents), wanted = job.rows.discount?.name;
    const sold = wanted ? tableOf(gpucalc.pasted.discounted(rowsOf(book), wanted), book) : book;
    const offers = offersOf(job, kind, sold), tables = { offers, assumed: assumed() };
    if (trains(kind)) return { ...tables, clusters: clustersOf(job, offers), ...degreesOf(job) };
    const cards = cardsOf(job, offers);
    return { ...tables, cards, ...replicaDegrees(job, cards) };
  }

  Object.assign(gpucalc, { MissingPrice, row, market, stands, trains });
}
