// The page of drills: what to drill, question by question, the result, progress. The address may name what:
// #topic=kv_cache&level=1 chooses, #drill=kv-token&seed=7 asks.
"use strict";
{
  const { drills, make, button, generator } = gpucalc, { data, progress } = drills;
  const app = document.getElementById("drill-app"), COUNTS = [5, 10, 20], AGAIN = 3, MOST_SEED = 1e6;
  const link = (href, textContent) => make("a", { href, textContent });
  const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
  const newSeed = () => Math.floor(Math.random() * MOST_SEED);
  const chosen = { topics: [], level: 0, count: 10 }, MEMORY = 4;
  let session = null;

  // What is drilled

  const namesFor = ({ topics, level }) => Object.keys(data.drills).filter((name) => {
    const drill = data.drills[name];
    return (!topics.length || topics.includes(drill.topic)) && (!level || (level === MEMORY ? drill.recall : drill.level === level));
  });

  function fromAddress() {
    const given = new URLSearchParams(location.hash.slice(1)), name = given.get("drill"), seed = Number(given.get("seed"));
    if (Object.hasOwn(data.drills, name ?? "")) {
      const whole = Number.isInteger(seed) && seed >= 0 && given.has("seed");
      return begin([name], whole ? seed : newSeed());
    }
    if (name !== null) return choose(`There is no drill of the name in the address. Choose here.`);
    if (!given.has("topic") && !given.has("level")) return session ? undefined : choose();
    chosen.topics = (given.get("topic") ?? "").split(",").filter((topic) => Object.hasOwn(data.topics, topic));
    chosen.level = Object.hasOwn(data.levels, given.get("level") ?? "") ? Number(given.get("level")) : 0;
    return choose();
  }

  // The form

  function choose(said = "") {
    session = null;
    const matching = make("p", { className: "drill-soft", role: "status" });
    const form = make("form", { className: "drill-form" }, topics(), make("p", {}, select("Level", "level", levels()), " ",
      select("Questions", "count", COUNTS.map((count) => [count, String(count)]))), matching);
    const start = make("button", { type: "submit", textContent: "Start", className: "drill-main" });
    const print = button("Print a sheet", () => printSheet());
    form.append(make("p", { className: "drill-buttons" }, start, print));
    form.onchange = () => {
      chosen.topics = [...form.querySelectorAll("input:checked")].map(({ value }) => value);
      [chosen.level, chosen.count] = ["level", "count"].map((name) => Number(form.elements[name].value));
      told();
    };
    form.onsubmit = (event) => (event.preventDefault(), begin(namesFor(chosen), newSeed()));
    function told() {
      const found = namesFor(chosen).length, titles = chosen.topics.map((topic) => data.topics[topic]);
      form.querySelector("summary").textContent = `Topics: ${titles.join(", ") || "all"}`;
      const none = "No drill is of this kind: take more topics, or any level.";
      matching.textContent = found ? `${plural(found, "drill")} of this kind.` : none;
      start.disabled = print.disabled = !found;
    }
    told();
    app.replaceChildren(...(said ? [make("p", { className: "drill-fault", textContent: said })] : []), form, ownProgress());
  }

  function topics() {
    const boxes = Object.entries(data.topics).map(([topic, title]) => make("label", {},
      make("input", { type: "checkbox", name: "topic", value: topic, checked: chosen.topics.includes(topic) }),
      ` ${title} (${namesFor({ topics: [topic], level: 0 }).length})`));
    const open = chosen.topics.length > 0 || matchMedia("(min-width: 700px)").matches;
    return make("details", { open, className: "drill-topics" }, make("summary"), make("fieldset", {},
      make("legend", { textContent: "Topics (none ticked: all)" }), ...boxes));
  }

  const levels = () => [[0, "any"], ...Object.entries(data.levels).map(([level, said]) => [level, `${level}: ${said}`])];

  function select(label, name, options) {
    const held = make("select", { name }, ...options.map(([value, textContent]) => make("option", { value, textContent })));
    return make("label", {}, `${label} `, Object.assign(held, { value: String(chosen[name]) }));
  }

  function printSheet() {
    drills.sheet(namesFor(chosen), chosen.count, newSeed());
    document.getElementById("drill-sheet-title").focus();
    window.print();
  }

  // A session

  function begin(names, seed) {
    const random = generator(`session ${seed}`), first = progress.sorted(names, random), queue = [];
    const count = names.length === 1 ? Math.min(COUNTS[0], chosen.count) : chosen.count;
    const recalled = names.length > 1 && chosen.level === MEMORY, threes = recalled ? chained(names, random) : first;
    while (queue.length < count) queue.push(...threes);
    session = { names, queue: queue.slice(0, count), seed, at: 0, results: [], again: new Set(), texts: new Set(), recalled };
    ask();
  }

  // Three on one system after three, those on what interviews ask more often the sooner.
  function chained(names, random) {
    const weight = (chain) => chain.reduce((sum, name) => sum + data.weights[data.drills[name].topic], 0);
    const found = data.chains.filter((chain) => chain.some((name) => names.includes(name)));
    return found.map((chain) => [random() ** (1 / weight(chain)), chain]).sort(([a], [b]) => b - a).flatMap(([, chain]) => chain);
  }

  function ask() {
    const { queue, at, seed } = session, name = queue[at], drill = drills.drillNamed(name);
    if (session.recalled && at % 3 === 0) session.system = {};
    const drawn = drawnAnew(name, seed + at, session.system), now = { drawn, tries: 0, hinted: false, turns: [], done: false };
    session.now = now;
    Object.assign(session.system ?? {}, drawn.choice);
    const title = make("h3", { id: "drill-title", textContent: `Question ${at + 1} of ${queue.length}` });
    const about = make("p", { className: "drill-soft", textContent: `${data.topics[drill.topic]}, level ${drill.level}`
      + (drawn.order ? ". Within a factor of two is near enough." : "") });
    const question = make("p", { id: "drill-question", className: "drill-question", textContent: drawn.text });
    const input = make("input", { id: "drill-answer", type: "text", autocomplete: "off", spellcheck: false, enterKeyHint: "go" });
    input.setAttribute("aria-describedby", "drill-question drill-unit");
    input.setAttribute("autocapitalize", "off");
    const unit = make("span", { id: "drill-unit", textContent: drawn.unit || unitless(drill.law) });
    const hint = button("Hint", () => showHint(now), "drill-hint"), steps = button("Show the steps", () => finish("missed"));
    const form = make("form", { className: "drill-form" }, make("p", { className: "drill-ask" },
      make("label", { htmlFor: "drill-answer", textContent: "Your answer" }), " ", input, " ", unit, " ",
      make("button", { type: "submit", textContent: "Check", className: "drill-main" })),
    make("p", { className: "drill-buttons" }, hint, steps, button("End here", end)));
    form.onsubmit = (event) => (event.preventDefault(), now.done ? next() : check(input.value));
    const said = ["drill-hint-said", "drill-verdict"].map(live);
    app.replaceChildren(title, about, question, form, ...said, make("div", { id: "drill-after" }));
    input.focus({ preventScroll: true });
    if (app.getBoundingClientRect().top < 0) app.scrollIntoView();
  }

  // With numbers that this session had not, as long as there are any.
  function drawnAnew(name, seed, system) {
    let drawn = drills.draw(name, seed, system);
    for (let k = 1; k < 20 && session.texts.has(drawn.text); k++) drawn = drills.draw(name, seed + k * 1000, system);
    session.texts.add(drawn.text);
    return drawn;
  }

  const live = (id) => make("div", { id, role: "status" });
  const unitless = (law) => (gpucalc.data.units[gpucalc.data.quantities[law][0]][0] ? "" : "a number");
  const say = (id, ...children) => document.getElementById(id).replaceChildren(...children);
  const paragraph = (textContent, className = "") => make("p", { textContent, className });

  function showHint(now) {
    now.hinted = true;
    say("drill-hint-said", paragraph(`Hint. ${drills.drillNamed(now.drawn.name).hint}`));
    app.querySelector(".drill-hint").disabled = true;
    document.getElementById("drill-answer").focus();
  }

  function check(text) {
    const { now } = session, { name } = now.drawn, { value, fault } = drills.read(text, name);
    if (fault) return say("drill-verdict", paragraph(fault, "drill-fault"));
    const { counts, turn } = drills.judged(now.drawn, value);
    const known = turn === null ? "" : drills.drillNamed(name).wrong[turn].say;
    now.tries += 1;
    if (turn !== null) now.turns.push(turn);
    if (counts) {
      const helped = now.hinted || now.tries > 1, how = now.hinted ? ", with the hint" : helped ? ` at try ${now.tries}` : "";
      const right = `Right${how}. ${exactly(now.drawn)}`;
      return finish(helped ? "helped" : "right", known ? `${right} It counts, but: ${known}` : right);
    }
    say("drill-verdict", make("p", {}, make("strong", { textContent: "Not yet. " }),
      known || farOff(value, now.drawn)), paragraph("Try again, take the hint, or look at the steps.", "drill-soft"));
    const input = document.getElementById("drill-answer");
    input.focus();
    return input.select();
  }

  const exactly = ({ answer, unit }) => `It is ${gpucalc.figures.in_unit(answer, unit)}.`;

  function farOff(said, { answer }) {
    const times = said > answer ? said / answer : answer / said, share = Math.round(100 * Math.abs(said / answer - 1));
    const factor = times < 1e4 ? gpucalc.figures.three_figures(times) : "more than ten thousand";
    const by = times < 2 ? `${share} %` : `a factor of ${factor}`;
    return `That is too ${said > answer ? "large" : "small"} by ${by}.`;
  }

  // A question ends: what comes of it is kept, and what was missed comes again soon, once.
  function finish(result, said) {
    const { now, queue, at } = session, { name } = now.drawn;
    now.done = true;
    session.results.push({ name, result, turns: now.turns });
    progress.record(name, result, now.turns);
    if (result === "missed" && !session.recalled && !session.again.has(name)) {
      session.again.add(name);
      const length = queue.length;
      queue.splice(Math.min(at + 1 + AGAIN, length), 0, name);
      queue.length = length;
    }
    for (const element of app.querySelectorAll("form input, form button")) element.disabled = true;
    app.querySelector("form .drill-buttons").hidden = true;
    say("drill-verdict", paragraph(said ?? exactly(now.drawn), result === "missed" ? "" : "drill-right"));
    const more = button(at + 1 < queue.length ? "Next question" : "See the result", next, "drill-main");
    document.getElementById("drill-after").replaceChildren(make("p", { className: "drill-buttons" }, more), ...worked(now.drawn));
    more.focus();
  }

  function worked(drawn) {
    const { topic } = drills.drillNamed(drawn.name);
    const steps = drills.steps(drawn).map(({ called, said, numbers, result }) => make("li", {},
      make("span", { className: "drill-words", textContent: `${called} = ${said}` }),
      make("span", { className: "drill-numbers" }, ...(numbers === result ? [] : [`= ${numbers} `]), "= ",
        make("strong", { textContent: result }))));
    return [make("h4", { textContent: "The steps" }), make("ol", { className: "drill-steps" }, ...steps),
      make("p", {}, "Read more: ", link(`${topic}.html`, data.topics[topic]), ". ",
        link(`#drill=${drawn.name}&seed=${drawn.seed}`, "Link to this question"), ".")];
  }

  function next() {
    session.at += 1;
    return session.at < session.queue.length ? ask() : end();
  }

  // The result

  function end() {
    const { results, names } = session, of = (result, list = results) => list.filter((each) => each.result === result).length;
    if (!results.length) return choose();
    session = { ...session, over: true };
    const title = make("h3", { tabIndex: -1, textContent: `${of("right")} of ${results.length} right` });
    const helped = of("helped") ? `${of("helped")} more with a hint or at a second try. ` : "";
    const found = [...new Set(results.map(({ name }) => data.drills[name].topic))].map((topic) => {
      const list = results.filter(({ name }) => data.drills[name].topic === topic);
      return [link(`${topic}.html`, data.topics[topic]), of("right", list), of("helped", list), of("missed", list)];
    });
    app.replaceChildren(title, paragraph(`${helped}${of("missed") ? "What you missed comes first the next time." : ""}`.trim()),
      table("By topic", ["topic", "right", "with help", "missed"], found), ...turnsTaken(results),
      make("p", { className: "drill-buttons" }, button("Again", () => begin(names, newSeed()), "drill-main"),
        button("Choose anew", () => choose())), ownProgress());
    title.focus({ preventScroll: true });
    if (app.getBoundingClientRect().top < 0) app.scrollIntoView();
  }

  function turnsTaken(results) {
    const taken = results.flatMap(({ name, turns }) => turns.map((turn) => drills.drillNamed(name).wrong[turn].say));
    const many = (say) => taken.filter((each) => each === say).length;
    const lines = [...new Set(taken)].sort((a, b) => many(b) - many(a)).map((say) =>
      make("li", { textContent: many(say) > 1 ? `${say} (${many(say)} times)` : say }));
    return lines.length ? [make("h4", { textContent: "Wrong turns" }), make("ul", {}, ...lines)] : [];
  }

  function table(caption, heads, rows) {
    const cells = ([first, ...rest]) => make("tr", {}, Object.assign(make("th", {}, first), { scope: "row" }),
      ...rest.map((value) => make("td", { className: "number" }, String(value))));
    return make("table", {}, make("caption", { textContent: caption }), make("thead", {}, make("tr", {},
      ...heads.map((textContent) => make("th", { scope: "col", textContent })))), make("tbody", {}, ...rows.map(cells)));
  }

  // Progress

  function ownProgress() {
    const tried = progress.byTopic().filter((each) => each.tried), place = make("details", { className: "drill-progress" });
    const summary = make("summary", { textContent: "Your progress" });
    const kept = progress.isKept() ? "It is kept in this browser and goes nowhere."
      : "This browser keeps nothing: it is lost with the page.";
    place.append(summary);
    if (!tried.length) return place.append(paragraph(`Nothing yet. ${kept}`)), place;
    const rows = tried.map((each) => [each.title, each.drills, each.tried, each.right, each.questions]);
    const sure = make("p", { hidden: true, role: "status" }, "Forget all of it? ", button("Yes, clear it", () => {
      progress.clear();
      const fresh = ownProgress();
      fresh.open = true;
      place.replaceWith(fresh);
      fresh.querySelector("summary").focus();
    }), " ", button("Keep it", () => Object.assign(sure, { hidden: true })));
    const heads = ["topic", "drills", "tried", "right the last time", "questions"];
    place.append(table("Drills by topic", heads, rows), paragraph(kept),
      make("p", { className: "drill-buttons" }, button("Save as CSV", () => save(progress.asCsv(), "drills.csv", "text/csv")),
        button("Save as JSON", () => save(progress.asJson(), "drills.json", "application/json")),
        button("Clear", () => Object.assign(sure, { hidden: false }))), sure);
    return place;
  }

  function save(text, download, type) {
    const href = URL.createObjectURL(new Blob([text], { type }));
    make("a", { href, download }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }

  const every = document.getElementById("drill-sheet");
  every.replaceChildren(make("details", {}, make("summary", { textContent: "One draw of every drill" }), ...every.childNodes));
  addEventListener("hashchange", fromAddress);
  fromAddress();
}
