// A lesson opened from "Your case": its formulas with the reader's numbers, on top. Without a case in the address nothing
// happens; with one the formulas and prices of the front page are loaded, which the page names in a template.
(() => {
  const place = document.querySelector(".bd-article h1"), engine = document.getElementById("lesson-scripts");
  const page = location.pathname.split("/").pop().replace(/\.html$/, "");
  const hash = () => location.hash.slice(1);
  let panel = null, ready = null;

  function make(tag, properties = {}, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  // Scripts in their order; a script in a template is not loaded by itself.
  function load() {
    const scripts = [...engine.content.querySelectorAll("script")].map(({ src }) => make("script", { src, async: false }));
    return Promise.all(scripts.map((script) => new Promise((done, failed) => {
      Object.assign(script, { onload: done, onerror: failed });
      document.head.append(script);
    })));
  }

  async function arrive() {
    if (!place || !engine || !/(^|&)job=/.test(hash())) return; // a link to a heading leaves what is there
    if (!panel) {
      panel = make("section", { className: "lesson-case" });
      panel.setAttribute("aria-labelledby", "with-your-numbers");
      place.after(panel);
    }
    fill(make("p", { textContent: "Working them out …" }));
    try {
      await (ready ??= load());
    } catch {
      return fill(make("p", { textContent: "The formulas did not load. The lesson below needs none." }));
    }
    fill(...shown());
  }

  function fill(...children) {
    panel.replaceChildren(make("h2", { id: "with-your-numbers", textContent: "With your numbers" }), ...children);
  }

  // What is shown of the case in the address

  function shown() {
    const { cases } = gpucalc, { state, faults } = cases.fromAddress(hash());
    const found = answered(state), left = [...faults, ...found.faults];
    const followed = gpucalc.follow(found.held, found.names);
    const wrong = make("ul", { className: "lesson-faults" }, ...left.map((text) => make("li", { textContent: text })));
    const kind = found.kind ?? kindOf(state);
    const said = found.said.map((textContent) => make("p", { className: "lesson-said", textContent }));
    const kept = [followed ? "Figures with a dotted line below are yours; the rest keeps the page’s own example."
      : "The text below keeps this page’s own example.", ...sliders(found)].join(" ");
    return [...(left.length ? [wrong] : []), ...said,
      ...(found.steps.length ? [stepByStep(found.steps)] : []),
      make("p", { className: "lesson-soft", textContent: kept }), links(state, kind)];
  }

  const stepByStep = (steps) => make("details", {}, make("summary", { textContent: "Step by step" }),
    make("ol", { className: "lesson-steps" }, ...steps.map(item)));

  const kindOf = ({ job }) => (gpucalc.data.chains[job] ? job : gpucalc.catalogue.jobs[job].kind);

  function links(state, kind) {
    const { titles, views } = gpucalc.lessons, hash = gpucalc.cases.address(state);
    const link = (to, textContent) => make("a", { href: `${to}.html#${hash}`, textContent });
    const pages = Object.keys(titles), from = pages.indexOf(page);
    const next = [...pages.slice(from + 1), ...pages.slice(0, Math.max(from, 0))].filter((each) => views[each][kind]);
    return make("p", { className: "lesson-links" }, link("index", "Back to your case"),
      ...(next.length ? [" · with the same numbers: "] : []),
      ...next.flatMap((each, k) => [k ? ", " : "", link(each, titles[each])]));
  }

  function answered(state) {
    const none = { faults: [], said: [], steps: [] };
    try {
      const given = gpucalc.jobOf(state);
      if (given.faults.length) return { ...none, faults: given.faults.map(({ text }) => text) };
      return { ...none, ...(state.job === "rent_or_buy" ? owning(state, given.rents) : planned(given)) };
    } catch (error) {
      return { ...none, said: [`No answer to this: ${error.message}`] };
    }
  }

  const nothing = (kind) => ({ kind, said: ["This lesson has nothing on your case to work out step by step."] });

  function planned(given) {
    const found = gpucalc.answerTo(given), { kind, best } = found, view = gpucalc.lessons.views[page]?.[kind];
    if (!view) return { ...nothing(kind), ...(best ? { held: ofChoice(found), names: namesOf(found) } : {}) };
    if (!best) return { kind, said: ["No offer meets your limits, so there is no choice to put numbers to."] };
    const facts = gpucalc.words.case_facts({ ...found, helps: [] }, gpucalc.prices);
    if (page === "break_even") {
      const { gpu, usd_per_hour, term } = best, rented = best.priced && term !== gpucalc.data.owned;
      return rented ? bought(kind, { gpu, usd_per_hour, term }, facts) : nothing(kind);
    }
    return { ...worked(kind, view, ofChoice(found), best, facts), names: namesOf(found) };
  }

  // Rows of the case and of the choice, by kind.
  const namesOf = ({ case: whole, best }) => ({ ...gpucalc.words.named(whole), gpu: best.gpu });

  const isQuantity = (name) => Object.hasOwn(gpucalc.data.quantities, name);

  // The case with the columns of its choice and the prices of the cheapest API, which answers requests that have an output.
  function ofChoice({ case: whole, kind, best }) {
    const known = Object.entries(best).filter(([name, value]) => isQuantity(name) && !Object.hasOwn(gpucalc.laws, name)
      && typeof value === "number" && (best.priced || name !== "usd_per_hour"));
    const held = whole.but(Object.fromEntries(known));
    return gpucalc.trains(kind) || held.inputs.output === undefined ? held : held.but(cheapestApi(held));
  }

  function cheapestApi(held) {
    const offers = (gpucalc.owning?.api[held.rows.model.name] ?? []).filter(({ firm }) => firm).map((offer) =>
      Object.fromEntries(Object.entries(offer).filter(([name]) => name.endsWith("_usd_per_million"))));
    const cost = (prices) => value(held.but(prices), "api_request_usd") ?? Infinity;
    return offers.reduce((a, b) => (a && cost(a) <= cost(b) ? a : b), null) ?? {};
  }

  function owning(state, rents) {
    if (!gpucalc.lessons.views[page]?.own) return nothing("own");
    return bought("own", state, {}, rents);
  }

  // The likely values of a deal, by the formulas of owning.
  function bought(kind, state, facts, rents = []) {
    if (!gpucalc.owning) return { kind, said: ["The prices given leave out what an owned server costs."] };
    const data = { ...gpucalc.owning, own: rents }, { deal, lacks } = gpucalc.rentOrBuy(state, data);
    const known = { ...facts, gpu: state.gpu, lacks };
    if (lacks) return { kind, said: [`This lesson has no numbers for your case: ${gpucalc.told.fill("lacks", known)}.`] };
    const held = new gpucalc.Case({}, { ...deal.inputs, ...deal.fixed, ...deal.likely });
    return worked(kind, gpucalc.lessons.views[page][kind], held, {}, known);
  }

  // A law's value, null where the case cannot answer it.
  function value(held, law) {
    try {
      return held.law(law).number;
    } catch {
      return null;
    }
  }

  const named = (rows) => Object.fromEntries(Object.entries(rows).map(([kind, name]) => [kind, gpucalc.rowNamed(kind, name)]));

  function worked(kind, view, held, best, facts) {
    const planned = view.held.filter((name) => name in best).map((name) => [name, best[name]]);
    let here = held.but({ ...view.given, ...Object.fromEntries(planned) });
    if (view.worst) {
      const [axis, law] = view.worst, [first, last] = [0, 1].map((end) => here.but({ [axis]: end }));
      here = last.law(law).number > first.law(law).number ? last : first;
    }
    const other = ([, rows]) => Object.entries(rows).every(([name, to]) => here.rows[name]?.name !== to);
    const whole = view.paced.length ? paced(here, best) : here, caseOf = (law) => (view.paced.includes(law) ? whole : here);
    const steps = view.laws.filter(other)
      .map(([law, rows]) => step(caseOf(law).but(named(rows)), law, Object.values(rows).join(", ")))
      .filter((each) => each && each.value !== 0);
    const known = { ...facts };
    for (const { law, values, value: of } of [...steps].reverse()) Object.assign(known, finite({ ...values, [law]: of }));
    const said = gpucalc.told.fill(textFor(kind), known);
    return { kind, held: here, said: [said], steps: steps.length > 1 || view.laws.length === 1 ? steps : [] };
  }

  // The case with its prompts in the band of a whole request, as its decision has them, as far along both as it is sure.
  function paced(here, best) {
    const far = gpucalc.limits.far[gpucalc.valueOf(here, "sure").number];
    const [reading, pace] = ["replica_prefill_seconds", "request_seconds"].map((law) => gpucalc.columns.moved(...gpucalc.factors(here, law), far));
    const names = ["replica_prefill_seconds", ...gpucalc.lessons.prompts];
    return here.but(Object.fromEntries(names.map((name) => [name, (best[name] * pace) / reading])));
  }

  const finite = (values) => Object.fromEntries(Object.entries(values).filter(([, each]) => Number.isFinite(each)));

  // The lesson's sentence, among the texts of the answer.
  function textFor(kind) {
    const { texts, parts } = gpucalc.texts, name = `lesson_${page}_${kind}`;
    [texts[name], parts[name]] = [gpucalc.lessons.texts[page][kind], " "];
    return name;
  }

  function step(here, law, at) {
    const of = value(here, law);
    if (of === null) return null;
    const values = Object.fromEntries(gpucalc.laws[law].args.map((name) => [name, here.argument(name, law).number]));
    for (const name of gpucalc.lessons.formulas[law].names) {
      values[name] ??= gpucalc.laws[name].of(...gpucalc.laws[name].args.map((each) => values[each]));
    }
    return { law, at, value: of, values };
  }

  // A share as a percentage, as in the lesson's own formulas.
  const printed = (name, each) => (name === "mfu" || /^(share|utilization) /.test(gpucalc.data.quantities[name]?.[1])
    ? gpucalc.figures.percent(each) : gpucalc.figures.quantity(name, each));

  // A step: the formula in words, the numbers put in, the result.
  function item({ law, at, value: of, values }) {
    const { formulas, words } = gpucalc.lessons;
    const shownAs = Object.fromEntries(Object.entries(values).map(([name, each]) => [name, printed(name, each)]));
    const [said, numbers] = [words, shownAs].map((texts) => formulas[law].said(texts, values));
    const result = make("strong", { textContent: printed(law, of) });
    Object.assign(result.dataset, { law, value: of });
    if (at) return make("li", {}, `${words[law]} in ${at} = `, result);
    return make("li", {}, make("span", { className: "lesson-words", textContent: `${words[law]} = ${said}` }),
      make("span", { className: "lesson-numbers" }, ...(numbers === result.textContent ? [] : [`= ${numbers} `]), "= ", result));
  }

  // Sliders that have a name of the case stand at its value, or at the nearer end.
  function sliders({ held, names }) {
    const of = (name) => {
      try {
        const known = held && (held.given(name) !== undefined || gpucalc.lessons.sourced.includes(name));
        return known ? held.value(name).number : undefined;
      } catch {
        return undefined;
      }
    };
    const { quantity } = gpucalc.figures, { words } = gpucalc.lessons, set = window.setSliders?.(of, names) ?? [];
    const told = (each) => `${words[each.name] ?? gpucalc.data.quantities[each.name][1]} ${quantity(each.name, each.at)}`;
    const beyond = ({ name, value: yours }) => ` (yours, ${quantity(name, yours)}, is beyond its end)`;
    const all = set.sort((a, b) => a.beyond - b.beyond).map((each) => told(each) + (each.beyond ? beyond(each) : ""));
    return all.length ? [`Its sliders stand as near to your values as they reach: ${all.join(", ")}.`] : [];
  }

  addEventListener("hashchange", arrive);
  arrive();
})();
