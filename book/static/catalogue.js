// Tables of the catalogue: groups of columns, search, filters, and two rows side by side. What is chosen stands in the address.
(() => {
  const { make, button, labelled, choice, fromAddress, toAddress } = window.gpucalc;
  const words = (cell) => cell.textContent.trim();

  // The address holds `show=Money&vendor=AMD&find=h100&compare=A,B`; a second table's names begin with `2.`.
  // Which of two figures is better, and by how many times.
  function judged(way, [a, b]) {
    if (!Number.isFinite(a) || !Number.isFinite(b)) return { text: "–" };
    if (a === b) return { text: "same" };
    const times = Math.max(a, b) / Math.min(a, b);
    const by = times < 1000 ? `${Number(times.toPrecision(3))} \u00d7` : "";
    if (!way) return { text: by || "–" };
    return { text: by, winner: a > b === (way === "high") ? 0 : 1 };
  }

  function start(figure, number) {
    const table = figure.querySelector("table"), body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells], rows = [...body.rows];
    const groups = figure.dataset.groups.split("|"), prefix = number ? `${number + 1}.` : "";
    const name = (row) => words(row.cells[0]);
    const groupsOf = (head) => (head.dataset.group || "").split(" ").map(Number);
    // Other texts, such as a note, name other rows: the search reads names and what is filtered by.
    const read = heads.filter((head) => head.dataset.filter || !head.cellIndex).map((head) => head.cellIndex);
    const searched = new Map(rows.map((row) => [row, read.map((column) => words(row.cells[column])).join(" ").toLowerCase()]));
    const titles = heads.map(words);
    // The page is lighter without a mark on each dash in a column of numbers.
    for (const head of heads.filter((each) => each.matches(".number"))) {
      for (const row of rows) row.cells[head.cellIndex].classList.add("n");
    }

    const search = make("input", { type: "search", autocomplete: "off" });
    const filters = heads.filter((head) => head.dataset.filter).map((head) => {
      const column = head.cellIndex, found = [...new Set(rows.map((row) => words(row.cells[column])))];
      const select = choice([["", "any"], ...found.map((each) => [each, each])]);
      return { key: head.dataset.filter, title: words(head), column, select };
    });
    const reset = button("Reset", clean);
    const count = make("span", { className: "catalogue-count", role: "status" });
    const buttons = [...groups, "All"].map((text) => make("button", { type: "button", textContent: text, ariaPressed: "false" }));
    const show = make("div", { className: "catalogue-groups", role: "group", ariaLabel: "Columns" }, ...buttons);
    const pane = make("section", { className: "catalogue-compare", hidden: true, ariaLabel: "Two side by side" });
    const verdict = make("p", { className: "catalogue-verdict", role: "status" });
    const none = make("p", { className: "catalogue-none", hidden: true }, "Nothing matches. Search for less, or press Reset.");
    const chosen = new Map(); // the checkbox of each row
    let shown = groups[0], compared = [];

    function keep() {
      const held = fromAddress(), put = (key, values) => held.set(prefix + key, values);
      put("show", [shown === groups[0] ? "" : shown]);
      put("find", [search.value.trim()]);
      for (const { key, select } of filters) put(key, [select.value]);
      put("compare", compared);
      toAddress(held);
    }

    function match() {
      const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        row.hidden = !wanted.every((word) => searched.get(row).includes(word))
          || filters.some(({ column, select }) => select.value && words(row.cells[column]) !== select.value);
      }
      const found = rows.filter((row) => !row.hidden).length;
      count.textContent = found === rows.length ? `${found} rows` : `${found} of ${rows.length} rows`;
      none.hidden = found > 0;
    }

    function turn(text) {
      shown = text;
      const place = groups.indexOf(text);
      for (const button of buttons) button.ariaPressed = String(button.textContent === text);
      const away = heads.map((head, column) => column > 0 && place >= 0 && !groupsOf(head).includes(place));
      for (const row of table.rows) for (const cell of row.cells) cell.hidden = away[cell.cellIndex];
      figure.querySelector(":scope > .table-scroll").scrollLeft = 0;
    }

    // The two rows side by side: a line for each column under the name of its group, and who is better by how much.
    function lines(pair) {
      const seen = new Set();
      return groups.flatMap((text, place) => {
        const columns = heads.filter((head) => groupsOf(head).includes(place) && head.cellIndex > 0 && !seen.has(head));
        columns.forEach((head) => seen.add(head));
        const under = make("tr", {}, make("th", { colSpan: 4, scope: "colgroup", textContent: text }));
        return columns.length ? [under, ...columns.map((head) => line(head, pair))] : [];
      });
    }

    function line(head, pair) {
      const cells = pair.map((row) => row.cells[head.cellIndex]);
      const result = judged(head.dataset.better, cells.map((cell) => parseFloat(cell.dataset.value)));
      const copies = cells.map((cell, side) => {
        const better = result.winner === side, nodes = [...cell.childNodes].map((node) => node.cloneNode(true));
        return make("td", { className: better ? "better" : "" }, ...(better ? ["\u2713 "] : []), ...nodes);
      });
      const title = make("th", { scope: "row", textContent: titles[head.cellIndex] });
      const ratio = make("td", { className: "catalogue-ratio", textContent: result.text });
      return Object.assign(make("tr", {}, title, ...copies, ratio), { result });
    }

    function summed(pair, made) {
      const results = made.map((row) => row.result).filter((result) => result?.winner !== undefined);
      const better = [0, 1].map((side) => results.filter((result) => result.winner === side).length);
      const [one, other] = pair.map(name);
      return `Of ${results.length} figures that differ, ${one} is better at ${better[0]}, ${other} at ${better[1]}.`;
    }

    function compare() {
      const pair = compared.map((text) => rows.find((row) => name(row) === text));
      for (const [row, box] of chosen) box.checked = pair.includes(row);
      pane.hidden = !pair.length;
      verdict.textContent = pair.length === 1 ? `${name(pair[0])}: choose another row to put beside it.` : "";
      pane.querySelector(".table-scroll")?.remove();
      if (pair.length < 2) return;
      const made = lines(pair);
      const top = [make("td"), ...[...pair.map(name), "ratio"].map((textContent) => make("th", { scope: "col", textContent }))];
      verdict.textContent = summed(pair, made);
      const side = make("table", {}, make("thead", {}, make("tr", {}, ...top)), make("tbody", {}, ...made));
      pane.append(make("div", { className: "table-scroll", tabIndex: 0 }, side));
    }

    const reveal = () => compared.length > 1 && pane.scrollIntoView();

    function choose(texts) {
      compared = texts.slice(-2);
      compare();
      keep();
      reveal();
    }

    function boxes() {
      for (const row of rows) {
        const text = name(row), box = make("input", { type: "checkbox", ariaLabel: `Compare ${text}` });
        const others = () => compared.filter((each) => each !== text);
        box.addEventListener("change", () => choose(box.checked ? [...others(), text] : others()));
        chosen.set(row, box);
        row.cells[0].prepend(box);
      }
      pane.append(verdict, button("Clear", () => (choose([]), search.focus())));
    }

    function restore() {
      const held = fromAddress(), of = (key) => held.get(prefix + key) ?? [""];
      const names = new Set(rows.map(name));
      search.value = of("find").join(",");
      for (const { key, select } of filters) {
        const [value] = of(key);
        select.value = [...select.options].some((option) => option.value === value) ? value : "";
      }
      if (figure.hasAttribute("data-compare")) {
        compared = [...new Set(of("compare"))].filter((text) => names.has(text)).slice(0, 2);
        compare();
      }
      const [text] = of("show");
      turn([...groups, "All"].includes(text) ? text : groups[0]);
      match();
    }

    function clean() {
      search.value = "";
      for (const { select } of filters) select.value = "";
      compared = [];
      compare();
      turn(groups[0]);
      match();
      keep();
    }

    search.addEventListener("input", () => (match(), keep()));
    for (const { select } of filters) select.addEventListener("change", () => (match(), keep()));
    for (const button of buttons) button.addEventListener("click", () => (turn(button.textContent), keep()));
    if (figure.hasAttribute("data-compare")) boxes();
    const finder = make("div", { className: "catalogue-find" }, labelled("Search", search),
      ...filters.map(({ title, select }) => labelled(title, select)), reset, count);
    figure.querySelector("figcaption").after(finder, ...(groups.length > 1 ? [show] : []), pane);
    figure.append(none);
    restore();
    addEventListener("hashchange", () => {
      if (!fromAddress().size && location.hash) return;
      restore();
      if (fromAddress().has(`${prefix}compare`)) reveal();
    });
  }

  document.addEventListener("DOMContentLoaded", () => document.querySelectorAll("figure.catalogue").forEach(start));
})();
