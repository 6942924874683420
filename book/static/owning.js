// Rent or buy, and the ways to serve a load: what rent_or_buy.py and rent_own_or_api.py of gpucalc/decisions answer, from the same draws.
//
//   gpucalc.rentOrBuy({ gpu: "H100 SXM 80GB", utilization: 0.7, years: 4 }, data)   // names and numbers of a case
//   gpucalc.waysToServe(job, plan, data)      // job: a gpucalc.Case with a row model; plan: the columns of the choice
//
// `data` is book/web/export.py's. Answers have the fields of their Python namesakes, in camel case; a price that is
// missing is `lacks`, the name of the one to give. What is not allowed throws an Error.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const DIGITS = 32;

  // Draws

  const decoded = new WeakMap();

  // The shares of an input, evenly spaced: two digits are the place of each among all.
  function shares(name, data) {
    if (!decoded.has(data)) decoded.set(data, {});
    const held = decoded.get(data), text = data.shares[name];
    held[name] ??= Float64Array.from({ length: data.draws }, (_, k) => (
      parseInt(text.slice(2 * k, 2 * k + 2), DIGITS) + 0.5) / data.draws);
    return held[name];
  }

  // The values of a triangle below which such shares of it lie; a wide one is of logarithms.
  function triangle(share, ends, wide) {
    const logarithms = ends[0] > 0 && ends[2] > wide * ends[0];
    const [low, likely, high] = logarithms ? ends.map(Math.log) : ends, width = high - low;
    return share.map((each) => {
      const value = each * width < likely - low
        ? low + Math.sqrt(each * (width * (likely - low)))
        : high - Math.sqrt((1 - each) * (width * (high - likely)));
      return logarithms ? Math.exp(value) : value;
    });
  }

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Low, middle and high, each one of the values.
  function band(values, inside) {
    const sorted = Float64Array.from(values).sort();
    return [(1 - inside) / 2, 0.5, (1 + inside) / 2].map((share) => sorted[Math.max(Math.ceil(sorted.length * share - 1), 0)]);
  }

  function verdict(gains, sure, inside) {
    const chance = gains.reduce((count, gain) => count + (gain > 0), 0) / gains.length, own = mean(gains) > 0;
    const [low, , high] = band(gains, inside), wins = own ? chance > sure : chance < 1 - sure;
    return { cheaper: own ? "owning" : "renting", sure: wins, chance, mean: mean(gains), low, high };
  }

  // The deal

  const isGiven = (value) => value !== undefined && value !== null && value !== "";
  const words = (value) => (!isGiven(value) || value === "any" ? null : String(value).split(", "));
  const among = (wanted, value) => wanted === null || wanted.includes(value);

  // Offers of the GPU on the term, from whom and where the case wants, the cheapest hour first.
  function offers(state, term, data) {
    const { columns, rows } = data.rents, [provider, region] = [words(state.provider), words(state.region)];
    let found = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place]])));
    if (data.own?.length) found = gpucalc.pasted.laid_over(found, data.own, state.gpu);
    return (state.discount ? gpucalc.pasted.discounted(found, state.discount) : found)
      .filter((row) => row.gpu === state.gpu && row.term === term && among(provider, row.provider)
        && (region === null || gpucalc.stands(region, row.region, row.yours)));
  }

  // The cheapest of whole servers of the size if there are any; one that is not firm only where no other is.
  function cheapest(found, size) {
    const whole = found.filter((row) => row.gpus_per_server === size), left = whole.length ? whole : found;
    return left.find((row) => row.sure) ?? left[0];
  }

  // The server to buy; if its price is not one to decide by, after it all that may stand for it.
  function servers(state, given, data) {
    const { server_usd, gpus_per_server } = given;
    if (server_usd !== undefined) return [{ server_usd, gpus_per_server, provider: "given" }];
    const fits = (row) => gpus_per_server === undefined || row.gpus_per_server === gpus_per_server;
    const found = data.servers.filter((row) => row.gpu === state.gpu && fits(row));
    const current = found.find((row) => row.current);
    return current ? [current] : found;
  }

  function hosting(size, watts, data) {
    const { hosting_usd_per_kw_month: rate, hosting_usd_per_month: rack } = data.site;
    return rate === undefined ? rack
      : gpucalc.laws.rack_usd_per_month.of(rate, size, watts, gpucalc.laws.rack_usd_per_month.defaults.server_power_factor);
  }

  // Low, likely and high of every input around its likely value; that of a price is multiplied, any other one replaced.
  function ranges(likely, names, data) {
    return Object.fromEntries(names.map((name) => {
      const [low, middle, high, ofPrice] = data.assumptions[name], value = likely[name] ?? middle;
      if (ofPrice) return [name, [low, middle, high].map((factor) => value * factor)];
      return [name, [Math.min(low, value), value, Math.max(high, value)]];
    }));
  }

  function dealOf(state, data) {
    const names = ["gpus_per_server", ...Object.keys(data.assumptions)].filter((name) => isGiven(state[name]));
    const given = Object.fromEntries(names.map((name) => [name, Number(state[name])]));
    const name = words(state.term)?.[0] ?? data.term, term = data.terms[name], found = servers(state, given, data);
    if (!term) throw new Error(`term '${name}'; allowed: ${Object.keys(data.terms).join(", ")} or any`);
    if (!found.length) return { lacks: "server_usd" };
    const [server] = found, size = server.gpus_per_server, rents = offers(state, name, data);
    if (size === undefined) return { lacks: "gpus_per_server" };
    if (!("usd_per_hour" in given) && !rents.length) return { lacks: "usd_per_hour" };
    const watts = data.watts[state.gpu];
    if (watts === undefined) return { lacks: "tdp_watts" };
    const rent = "usd_per_hour" in given ? { usd_per_hour: given.usd_per_hour, provider: "given" } : cheapest(rents, size);
    const likely = { usd_per_hour: rent.usd_per_hour, server_usd: server.server_usd, usd_per_kwh: data.site.usd_per_kwh,
      hosting_usd_per_month: hosting(size, watts, data), ...given };
    const covered = term.years && (likely.years ?? data.assumptions.years[1]) <= term.years;
    const network = data.network && !server.networked ? { network_ports: size, ...data.network } : { network_usd: 0 };
    return {
      lacks: "", gpu: state.gpu, rows: { rent }, server, doubt: server.current === false ? found : [], size,
      cheaper: rent.provider === "given" ? null : rents.find((row) => !row.sure && row.usd_per_hour < rent.usd_per_hour) ?? null,
      ranges: ranges(likely, term.names.filter((each) => !(covered && each === "rent_decline")), data),
      fixed: { gpus_per_server: size, ...network, ...term.fixed, ...(covered ? { rent_decline: 0 } : {}) },
      inputs: { residual: "law:declining_residual", tdp_watts: watts },
    };
  }

  // Rent or buy

  const likelyOf = (deal) => Object.fromEntries(Object.entries(deal.ranges).map(([name, ends]) => [name, ends[1]]));

  function drawnCase(deal, data) {
    const axes = new gpucalc.Axes({ draw: data.draws });
    const columns = Object.entries(deal.ranges).map(([name, ends]) => [
      name, axes.along("draw", triangle(shares(name, data), ends, data.wide))]);
    return new gpucalc.Case({}, { ...deal.inputs, ...deal.fixed, ...Object.fromEntries(columns) }, axes);
  }

  const outcomes = (drawn, law) => drawn.law(law).over();

  // The gains of owning where one input is so many times what it was.
  const gainsAt = (drawn, name, times) => outcomes(
    drawn.but({ [name]: gpucalc.map((value) => value * times, drawn.inputs[name]) }), "owning_npv");

  // Where the other of owning and renting wins, nearest to the likely value, all others being likely.
  function turningPoints(deal, likely) {
    const axes = new gpucalc.Axes({ at: 401 }), base = new gpucalc.Case({}, { ...deal.inputs, ...deal.fixed, ...likely }, axes);
    const owning = base.law("owning_npv").number > 0;
    return Object.fromEntries(Object.entries(deal.ranges).map(([name, [low, middle, high]]) => {
      const grid = Float64Array.from({ length: 401 }, (_, k) => (k === 400 ? high : low + k * ((high - low) / 400)));
      const gains = base.but({ [name]: axes.along("at", grid) }).law("owning_npv").over();
      const other = [...grid].filter((_, k) => gains[k] > 0 !== owning), far = (value) => Math.abs(value - middle);
      return [name, other.reduce((best, value) => (far(value) < far(best) ? value : best), other[0] ?? NaN)];
    }));
  }

  function atStandIns(deal, drawn, likely, sure, inside) {
    const each = (server) => server.server_usd / server.gpus_per_server;
    const order = [...deal.doubt].sort((one, other) => each(one) - each(other));
    return [...order.slice(0, 1), ...order.slice(1).slice(-1)].map((server) => [
      server, verdict(gainsAt(drawn, "server_usd", each(server) * deal.size / likely.server_usd), sure, inside)]);
  }

  gpucalc.rentOrBuy = (state, data) => {
    const deal = dealOf(state, data);
    if (deal.lacks) return { lacks: deal.lacks };
    const sure = isGiven(state.sure) ? Number(state.sure) : data.inside, likely = deal.likely = likelyOf(deal), drawn = drawnCase(deal, data);
    const middle = new gpucalc.Case({}, { ...deal.inputs, ...deal.fixed, ...likely });
    const banded = (law, given = {}) => {
      const [low, plan, high] = band(outcomes(drawn.but(given), law), data.inside);
      return { low, plan, high, value: middle.but(given).law(law).number };
    };
    const rented = banded("level_usd_per_hour"), gains = outcomes(drawn, "owning_npv"), once = mean(gains), twice = mean(gainsAt(drawn, "usd_per_hour", 2));
    return {
      lacks: "", deal, verdict: verdict(gains, sure, data.inside),
      needed: "committed" in deal.fixed ? null : banded("break_even_utilization"),
      owned: banded("owned_usd_per_hour"), rented, fixed: banded("fixed_usd_per_hour"),
      paid: "committed" in deal.fixed ? banded("level_usd_per_hour", { committed: 0 }) : rented,
      work: middle.law("work_usd_per_hour").number, evenRent: likely.usd_per_hour * (1 - once / (twice - once)),
      turns: turningPoints(deal, likely), standIns: atStandIns(deal, drawn, likely, sure, data.inside), cheaper: deal.cheaper,
    };
  };

  // The ways to serve a load

  const bought = (way, usd, offer) => (
    { way, usd, low: usd, high: usd, who: offer.provider, doubt: offer.firm === false ? offer.confidence : "", row: offer.row });

  const prices = (offer) => Object.fromEntries(Object.entries(offer).filter(([name]) => name.endsWith("_usd_per_million")));

  function fromApis(way, law, found, job, requests) {
    if (job.inputs.output === undefined) return [];
    return (found ?? []).map((offer) => bought(way, requests * job.but(prices(offer)).law(law).number, offer));
  }

  const limitOf = (job, name) => ([undefined, Infinity].includes(job.inputs[name]) ? Infinity : job.value(name).number);

  const degrees = ["tensor_parallel", "attention_parallel", "pipeline_parallel"];
  const sizeOf = (plan) => degrees.reduce((size, name) => size * (plan[name] ?? 1), 1);
  const times = ["replica_prefill_seconds", "replica_pass_seconds", "prompt_turn_seconds", "prompt_seconds",
    "prompt_host_seconds", "speculative_seconds", "time_per_output_token", "fixed_share", "growing_share", "lone_share"];
  const timesOf = (plan) => Object.fromEntries([...degrees, "batch", ...times]
    .filter((name) => plan[name] !== undefined).map((name) => [name, plan[name]]));

  // Whether so many replicas of the plan keep the limits at a load, those to spare being out of service.
  function carries(job, plan, load, replicas) {
    const left = replicas - job.value("spare_replicas").number;
    if (left < 1) return false;
    const loaded = job.but({ requests_per_second: load, ...timesOf(plan), request_seconds: plan.request_seconds });
    if (loaded.but({ replicas }).law("offered_load").number > job.value("most_load").number) return false;
    const found = loaded.but({ replicas: left });
    return found.law("offered_load").number < 1 && found.law("answer_seconds").number <= limitOf(job, "answer_limit")
      && found.law("time_to_first_token").number <= limitOf(job, "first_token_limit")
      && found.law("late_token_seconds").number <= limitOf(job, "token_limit");
  }

  function turnsOf(job, plan, apiUsd, planUsd, data) {
    if (apiUsd === null) return [null, null];
    const rate = job.value("requests_per_second").number, each = plan.gpus_per_server / sizeOf(plan);
    const bill = (count) => gpucalc.laws.serving_usd_per_month.of(plan.usd_per_hour, count * plan.gpus_per_server);
    const loads = data.counts.map((count) => rate * bill(count) / apiUsd);
    const place = loads.findIndex((load, k) => carries(job, plan, load, each < 1 ? Math.floor(data.counts[k] * each) : data.counts[k] * Math.floor(each)));
    return [rate * planUsd / apiUsd, loads[place] ?? Infinity];
  }

  // Renting the plan's GPUs against buying servers for it: rent is paid for all hours of the month, but owned servers come whole,
  // and are used as far as they take the place of rented GPUs.
  function owningOf(plan, data) {
    const state = { gpu: plan.gpu, usd_per_hour: plan.usd_per_hour, term: plan.term, utilization: 1 };
    const found = gpucalc.rentOrBuy(state, data), gpus = ownedGpus(found, plan), used = gpus ? plan.rented_gpus / gpus : 1;
    return used < 1 ? gpucalc.rentOrBuy({ ...state, utilization: used }, data) : found;
  }

  // GPUs of the servers that are bought for the same replicas; 0 where none of that GPU holds one.
  function ownedGpus({ deal }, plan) {
    if (!deal || deal.size < plan.tensor_parallel) return 0;
    return gpucalc.laws.rented_gpus.of(plan.all_replicas ?? plan.planned_replicas, sizeOf(plan), deal.size);
  }

  // The bill of the same replicas on servers that are bought.
  function onOwned(owning, plan, ends, busy, data) {
    const gpus = ownedGpus(owning, plan), { laws } = gpucalc;
    if (!gpus) return [];
    const { server, doubt, ranges } = owning.deal;
    const [usd, low, high] = [owning.fixed.plan, owning.fixed.low, owning.fixed.high].map((rate, k) => (
      laws.owned_serving_usd_per_month.of(gpus * ends[k] / ends[0], rate, owning.work, busy, ranges.availability[1])));
    const why = !doubt.length ? "" : server.confidence === "seen" ? "old" : server.confidence;
    return [{ way: data.ways.owned, usd, low, high, who: server.provider, doubt: why, row: server.row }];
  }

  const ordered = (found) => [...found].sort((one, other) => (one.doubt !== "") - (other.doubt !== "") || one.usd - other.usd);

  gpucalc.waysToServe = (job, plan, data) => {
    const windowed = plan.window_usd !== undefined, bill = windowed ? "window_usd" : "serving_usd_per_month";
    const requests = windowed ? job.value("window_requests").number : job.law("mean_requests_per_month").number;
    const ends = ["", "low_", "high_"].map((end) => plan[`${end}${bill}`] ?? plan[bill]), name = job.rows.model.name;
    const asked = fromApis(data.ways.api, "api_request_usd", data.api[name], job, requests);
    const batched = windowed ? fromApis(data.ways.batch, "api_batch_request_usd", data.batch[name], job, requests) : [];
    const [usd, low, high] = ends;
    const has = plan.most_rented < Infinity, way = has ? data.ways.yours : windowed ? data.ways.hours : data.ways.rented;
    const bought = [...asked, ...ordered(batched).slice(0, 1)];
    const found = [...bought, ...(plan.priced ?? 1 ? [{ way, usd, low, high, who: plan.provider, doubt: "", row: plan.row }] : [])];
    if (windowed || has || !(plan.priced ?? 1)) {
      const lacks = bought.length ? [] : [data.ways.api];
      return { requests, rows: ordered(found), lacks, busy: null, below: null, turn: null, level: null, owning: null };
    }
    const month = job.but({ requests_per_month: requests, rented_gpus: plan.rented_gpus, ...timesOf(plan) });
    const busy = month.law("paid_utilization").number;
    const owning = owningOf(plan, data);
    const level = owning.paid ? ends[0] * owning.paid.plan / plan.usd_per_hour : null;
    const owned = onOwned(owning, plan, ends, busy, data), firm = asked.filter((each) => !each.doubt).map((each) => each.usd);
    const [below, turn] = turnsOf(job, plan, firm.length ? Math.min(...firm) : null, ends[0], data);
    const lacks = [...(asked.length ? [] : [data.ways.api]), ...(owned.length ? [] : [data.ways.owned])];
    return { requests, rows: [...ordered(found), ...owned], lacks, busy, below, turn, level, owning };
  };
}
