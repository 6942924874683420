// Price ages, guesses, sortable tables, and what the keyboard must reach. Runs while the page is read.
(() => {
  // An age takes room: it is written before the page is first painted, so that nothing moves. An old date has one mark a row of a
  // table, and one sentence a page.
  const MARKED = "time.price-date.stale";
  function showAge(time) {
    time.dataset.shown = "";
    const days = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 86400000)); // a clock may stand behind
    if (Number.isNaN(days)) return;
    const brief = time.classList.contains("brief"), within = brief ? time.closest("tr") : document;
    const stale = days > 90 && !within?.querySelector(brief ? MARKED : `${MARKED}:not(.brief)`);
    if (!brief) time.append(` (${days} ${days === 1 ? "day" : "days"} ago${stale ? ": check before you rely on it" : ""})`);
    else if (stale) time.append(` (${days} days)`);
    time.classList.toggle("stale", stale);
  }

  const showAges = () => document.querySelectorAll("time.price-date:not([data-shown])").forEach(showAge);
  const reading = new MutationObserver(showAges);
  reading.observe(document, { childList: true, subtree: true });
  document.addEventListener("DOMContentLoaded", () => {
    reading.disconnect();
    showAges();
    start();
  });

  function verdict(guess, answer) {
    const ratio = guess / answer;
    if (!(ratio > 0)) return "Give a number above zero.";
    if (Math.abs(ratio - 1) <= 0.1 + 1e-9) return "Right, within 10 %.";
    const times = (ratio > 1 ? ratio : 1 / ratio).toPrecision(2);
    return `${Number(times)} times too ${ratio > 1 ? "high" : "low"}.`;
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
  };

  // Text in a column of numbers is a missing value: it comes last either way.
  function compare(a, b, sign) {
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  }

  function sort(table, header) {
    const sign = header.ariaSort === "ascending" ? -1 : 1;
    const column = header.cellIndex;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compare(value(a, column), value(b, column), sign));
    table.tBodies[0].append(...rows);
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
  }

  // A table as CSV: figures at full precision; no text may be a formula of a spreadsheet.
  const field = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const plain = (text) => field(/^[=+@\t\r-]/.test(text) ? `'${text}` : text);
  const content = (cell) => cell.dataset.value ?? plain(cell.textContent.trim().replace(/^–$/, ""));
  const matching = (table) => [...table.rows].filter((row) => !row.hidden);
  const csv = (table) => matching(table).map((row) => [...row.cells].map(content).join(",") + "\r\n").join("");
  const pageName = () => location.pathname.split("/").pop().replace(/\.html$/, "") || "index";

  function save(text, download) {
    const href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    Object.assign(document.createElement("a"), { href, download }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10000);
  }

  // A link to what is folded opens it and all that it lies in.
  function reveal() {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const folds = target.matches("section.depth") ? [target.querySelector("details.depth")] : [];
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) folds.push(fold);
    const closed = folds.filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
    if (closed.length) target.scrollIntoView();
  }

  function start() {
    addEventListener("hashchange", reveal);
    document.addEventListener("click", (event) => event.target.closest('a[href*="#"]') && setTimeout(reveal));
    reveal();
    for (const guess of document.querySelectorAll(".guess")) {
      const input = guess.querySelector("input");
      const check = () => {
        guess.querySelector("output").textContent = verdict(input.valueAsNumber, Number(guess.dataset.answer));
        if (!(input.valueAsNumber > 0)) return;
        guess.querySelector("details").open = true;
      };
      guess.querySelector("button").addEventListener("click", check);
      input.addEventListener("keydown", (event) => event.key === "Enter" && check());
    }

    for (const table of document.querySelectorAll("table.data")) {
      for (const header of table.tHead ? table.tHead.rows[0].cells : []) {
        const button = document.createElement("button");
        button.type = "button";
        button.append(...header.childNodes);
        button.addEventListener("click", () => sort(table, header));
        header.append(button);
      }
    }

    for (const [number, figure] of document.querySelectorAll("figure.data-table").entries()) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "csv";
      button.append("CSV");
      button.addEventListener("click", () => save(csv(figure.querySelector("table.data")), `${pageName()}-${number + 1}.csv`));
      figure.querySelector("figcaption").append(button);
    }

    // What scrolls sideways must be reachable by keyboard.
    for (const table of document.querySelectorAll(".bd-article table")) {
      let frame = table.closest(".table-scroll, .pst-scrollable-table-container");
      if (!frame) {
        frame = document.createElement("div");
        table.replaceWith(frame);
        frame.append(table);
      }
      frame.classList.add("table-scroll");
      frame.tabIndex = 0;
    }

    // A formula within a line scrolls on a phone only.
    const spans = [...document.querySelectorAll("span.math")];
    const reach = () => spans.map((span) => [span, span.scrollWidth > span.clientWidth])
      .forEach(([span, scrolls]) => scrolls ? (span.tabIndex = 0) : span.removeAttribute("tabindex"));
    if (matchMedia("(max-width: 600px)").matches) reach();
    window.addEventListener("resize", reach);

    // On paper nothing unfolds: all stands open, and is as it was afterwards.
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("article details:not([open])")];
      for (const fold of closed) fold.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const fold of closed) fold.open = false;
    });
  }
})();
