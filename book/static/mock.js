// A mock interview: a random set of questions whose minutes add up, timers, and at the end what was said and what was missed.
(() => {
  const LENGTHS = [15, 30, 45, 60], PARTS = [["estimate", 5], ["design", 30], ["debug", 10]], SAVED = 5000;
  const { make, button, labelled, choice, generator, shuffled } = window.gpucalc;

  // One question of each kind after the other, as chance has it.
  function mixed(all, random) {
    const kinds = shuffled([...new Set(all.map((each) => each.kind))].sort(), random);
    const piles = kinds.map((kind) => shuffled(all.filter((each) => each.kind === kind), random));
    const most = Math.max(0, ...piles.map((pile) => pile.length));
    return Array.from({ length: most }, (_, place) => piles.flatMap((pile) => pile.slice(place, place + 1))).flat();
  }

  // The first of them whose minutes add up to the length, or to as much of it as any do.
  function filled(order, length) {
    const after = [...order.map(() => null), new Set([0])];
    for (let place = order.length - 1; place >= 0; place--) {
      const sums = [...after[place + 1]].map((sum) => sum + order[place].minutes).filter((sum) => sum <= length);
      after[place] = new Set([...after[place + 1], ...sums]);
    }
    let left = Math.max(...after[0]);
    return order.filter((each, place) => {
      const taken = left >= each.minutes && after[place + 1].has(left - each.minutes);
      if (taken) left -= each.minutes;
      return taken;
    });
  }

  // From 45 minutes on an estimate, a design and something to debug; what is left, and a shorter mock, is of other kinds.
  function draw(all, role, length, seed) {
    const pool = all.filter((each) => !role || each.roles.includes(role)).sort((a, b) => (a.name < b.name ? -1 : 1));
    const random = generator(`${seed}|${role}|${length}`), fits = (kind, minutes) => (each) => each.kind === kind && each.minutes === minutes;
    const parts = length < 45 ? [] : PARTS.flatMap((part) => shuffled(pool.filter(fits(...part)), random).slice(0, 1));
    const others = pool.filter((each) => each.kind !== "design" && !parts.includes(each));
    return [...parts, ...filled(mixed(others, random), length - total(parts.map((each) => each.minutes)))];
  }

  const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const total = (numbers) => numbers.reduce((sum, each) => sum + each, 0);

  function start() {
    const { options, store, labels, fromAddress, toAddress, questions, boxes } = window.interview;
    const root = document.querySelector(".mock");
    if (!root) return;
    const status = make("p", { className: "mock-status", role: "status" });
    const pane = make("div", { className: "mock-pane" });
    root.replaceChildren(pane, status);
    const tell = (text) => { status.textContent = text; };
    let run = null, ticking = 0;

    const keyOf = ({ mock, role, seed }) => [mock, role, seed].join("|");
    const save = () => {
      if (!run) return;
      const { place, used, ticks, done } = run;
      store.put("mock", { key: keyOf(run), place, used, ticks, done });
    };

    // Set up

    function setUp() {
      clearInterval(ticking);
      const held = fromAddress(), saved = store.get("mock");
      const length = choice(LENGTHS.map((each) => [each, `${each} minutes`]));
      const role = choice(options(labels.role));
      const seed = make("input", { inputMode: "numeric", autocomplete: "off", maxLength: 12, value: held.seed || random() });
      length.value = LENGTHS.includes(Number(held.mock)) ? held.mock : 45;
      role.value = labels.role[held.role] ? held.role : "";
      const asked = () => ({ mock: length.value, role: role.value, seed: seed.value.trim() || random() });
      const form = make("form", { className: "mock-form" }, labelled("Role", role), labelled("Length", length),
        labelled("Set", seed), make("button", { textContent: "Start" }));
      form.addEventListener("submit", (event) => (event.preventDefault(), begin(asked())));
      const goOn = button("Go on where you stopped", () => begin(asked(), saved));
      const stopped = held.mock && saved.key === keyOf(asked()) && !saved.done;
      const hint = "The same number in Set gives the same questions. Send the address after you start, and others get them too.";
      pane.replaceChildren(form, ...(stopped ? [make("p", {}, "You stopped in the middle of this one. ", goOn)] : []),
        make("p", { className: "mock-hint", textContent: hint }));
    }

    const random = () => String(Math.floor(Math.random() * 900000) + 100000);

    function begin(asked, saved) {
      const drawn = draw(questions(), asked.role, Number(asked.mock), asked.seed);
      if (!drawn.length) return tell("No question of this role is so short. Choose a longer mock.");
      run = { ...asked, drawn, place: 0, used: drawn.map(() => 0), ticks: {}, done: false, open: false, paused: false };
      if (saved && Array.isArray(saved.used) && saved.used.length === drawn.length) {
        const place = Math.min(Number(saved.place) || 0, drawn.length - 1);
        Object.assign(run, { used: saved.used.map((each) => Number(each) || 0), ticks: saved.ticks || {}, place });
      }
      toAddress({ mock: asked.mock, role: asked.role, seed: asked.seed });
      show(`${drawn.length} question${drawn.length === 1 ? "" : "s"}, ${total(drawn.map((each) => each.minutes))} minutes. Timer running.`);
      let last = performance.now(), kept = last;
      clearInterval(ticking);
      ticking = setInterval(() => {
        const now = performance.now();
        if (!run.paused && !run.open) pass((now - last) / 1000);
        if (now - kept > SAVED) (save(), kept = now);
        last = now;
      }, 250);
    }

    // One question

    function pass(seconds) {
      const own = run.drawn[run.place].minutes * 60, all = Number(run.mock) * 60;
      const before = [run.used[run.place], total(run.used)];
      run.used[run.place] += seconds;
      const after = [run.used[run.place], total(run.used)];
      const passed = (which, mark) => before[which] < mark && after[which] >= mark;
      if (passed(1, all)) tell("The whole time is over. Finish when you are ready.");
      else if (passed(0, own)) tell("The time for this question is over. Finish your sentence and go on.");
      else if (passed(1, all - 300)) tell("Five minutes are left in all.");
      else if (passed(0, own - 60)) tell("One minute is left for this question.");
      times();
    }

    function times() {
      const own = run.drawn[run.place].minutes * 60, used = run.used[run.place], all = total(run.used);
      const write = (name, text, over) => {
        const place = pane.querySelector(name);
        if (place.textContent !== text) place.textContent = text;
        place.classList.toggle("over", over);
      };
      write(".mock-own", `This question ${clock(used)} of ${clock(own)}`, used > own);
      write(".mock-all", `In all ${clock(all)} of ${clock(Number(run.mock) * 60)}`, all > Number(run.mock) * 60);
    }

    function go(step) {
      Object.assign(run, { place: run.place + step, open: false });
      save();
      show();
    }

    const copies = (question) => [...question.element.querySelectorAll(":scope > :is(details, .read)")]
      .map((each) => each.cloneNode(true));

    // The points with boxes of this mock, which the lists keep too.
    function points(question, list, changed = () => {}) {
      list.replaceChildren(...question.points.map((text) => make("li", {}, text)));
      boxes(list, run.ticks[question.name] || [], (places) => {
        run.ticks[question.name] = places;
        window.interview.tick(question.name, places);
        save();
        changed();
      });
      return list;
    }

    function unfold(question, area) {
      Object.assign(run, { open: true });
      const [first, second, ...rest] = copies(question);
      first.open = second.open = true;
      points(question, first.querySelector(".points"));
      const hint = make("p", { className: "mock-hint", textContent: "The clock stands while you read. Tick what you said." });
      area.replaceChildren(hint, first, second, ...rest);
      tell("The points and the answer are open. The clock stands.");
    }

    function show(said = `Question ${run.place + 1} of ${run.drawn.length}. Timer running.`) {
      const { drawn, place } = run, question = drawn[place], last = place === drawn.length - 1;
      const area = make("div", { className: "mock-answers" });
      const title = make("h3", { tabIndex: -1, textContent: `Question ${place + 1} of ${drawn.length}: ${question.title}` });
      const [own, all] = ["mock-own", "mock-all"].map((className) => make("span", { className }));
      const clocks = make("p", { className: "mock-times", role: "timer" }, own, " ", all);
      const hold = button("Pause", () => {
        run.paused = !run.paused;
        hold.textContent = run.paused ? "Go on" : "Pause";
        tell(run.paused ? "Paused." : "Timer running again.");
      });
      run.paused = false;
      const answer = button("Show points and answer", () => {
        if (run.open) (area.replaceChildren(), run.open = false, tell("Timer running again."));
        else unfold(question, area);
        answer.textContent = run.open ? "Hide them, go on talking" : "Show points and answer";
      });
      const next = last ? button("Finish", finish) : button("Next question", () => go(1));
      const others = [...(place ? [button("Back", () => go(-1))] : []), ...(last ? [] : [button("Finish now", finish)])];
      pane.replaceChildren(title, clocks, question.element.querySelector(".ask").cloneNode(true),
        make("div", { className: "mock-buttons" }, next, answer, hold, ...others), area);
      times();
      tell(said);
      title.focus();
    }

    // The end

    function finish() {
      clearInterval(ticking);
      run.done = true;
      save();
      const summary = make("div", { className: "mock-summary" });
      const each = run.drawn.map((question, place) => review(question, place, () => sum(summary)));
      const title = make("h3", { tabIndex: -1, textContent: "How it went" });
      const other = button("Another set", () => (toAddress({ mock: run.mock, role: run.role }), setUp()));
      pane.replaceChildren(title, summary, make("h4", { textContent: "Tick what you said" }), ...each,
        make("div", { className: "mock-buttons" }, button("Print", () => print()), other, button("The same again", setUp)));
      sum(summary);
      title.focus();
      tell("The mock is over.");
    }

    function review(question, place, changed) {
      const used = `${clock(run.used[place])} of ${clock(question.minutes * 60)}`;
      const link = make("a", { href: `#q-${question.name}`, textContent: "the answer" });
      link.addEventListener("click", () => { question.element.hidden = false; question.element.open = true; });
      const list = points(question, make("ul", { className: "points" }), changed);
      const facts = make("p", {}, `${labels.kind[question.kind]}, ${used}. Read `, link, ".");
      return make("fieldset", {}, make("legend", { textContent: question.title }), facts, list);
    }

    function sum(summary) {
      const said = (each) => (run.ticks[each.name] || []).length;
      const count = (held) => [said, (each) => each.points.length].map((of) => total(held.map(of)));
      const kinds = [...new Set(run.drawn.map((each) => each.kind))];
      const rows = kinds.map((kind) => [labels.kind[kind], run.drawn.filter((each) => each.kind === kind)]);
      const line = ([text, held]) => {
        const [ticked, of] = count(held), used = total(held.map((each) => run.used[run.drawn.indexOf(each)]));
        const planned = total(held.map((each) => each.minutes)) * 60;
        const cells = [held.length, `${ticked} of ${of}`, `${clock(used)} of ${clock(planned)}`];
        const name = make("th", { scope: "row", textContent: text });
        return make("tr", {}, name, ...cells.map((textContent) => make("td", { textContent })));
      };
      const heads = ["Kind", "Questions", "Points said", "Time"].map((textContent) => make("th", { scope: "col", textContent }));
      const head = make("tr", {}, ...heads);
      const table = make("table", { className: "data" }, make("thead", {}, head),
        make("tbody", {}, ...[...rows, ["All", run.drawn]].map(line)));
      summary.replaceChildren(make("div", { className: "table-scroll", tabIndex: 0 }, table), ...missed());
    }

    function missed() {
      const unsaid = (each) => each.points.filter((_, place) => !(run.ticks[each.name] || []).includes(place));
      const left = run.drawn.map((each) => [each, unsaid(each)]).filter(([, points]) => points.length);
      if (!left.length) return [make("p", { textContent: "You said every point." })];
      const lines = left.map(([each, points]) => {
        const read = each.element.querySelector(".read").cloneNode(true);
        return make("li", {}, make("strong", { textContent: each.title }), `: ${points.join("; ")}. `, ...read.childNodes);
      });
      return [make("h4", { textContent: "What you missed, and where to read it" }), make("ul", {}, ...lines)];
    }

    addEventListener("pagehide", save);
    addEventListener("hashchange", () => (!run || run.done) && fromAddress().mock && setUp());
    setUp();
    Object.assign(window.interview, { draw });
  }

  document.addEventListener("interview", start);
})();
