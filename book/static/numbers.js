// Numbers to know by heart: both figures of a row are covered until one asks for them, row by row, with keys or a pointer.
(() => {
  const { make } = window.gpucalc;
  document.addEventListener("DOMContentLoaded", () => {
    const place = document.querySelector(".know-test"), rows = [...document.querySelectorAll(".know tbody tr")];
    if (!place) return;
    const button = (textContent, more) => make("button", { type: "button", textContent, ...more });
    const cover = button("Cover the figures", { ariaPressed: "false" });
    const status = make("span", { className: "know-count", role: "status" });
    const count = () => {
      const shown = rows.filter((row) => !row.classList.contains("covered")).length;
      status.textContent = cover.ariaPressed === "true" ? `${shown} of ${rows.length} shown` : "";
    };

    function uncover(row) {
      if (row.classList.contains("covered")) row.uncover();
      row.classList.remove("covered");
    }

    function hide(row) {
      const name = row.querySelector("th").firstChild.textContent, said = row.querySelector(".know-said");
      // The figures leave the page while they are covered, so that nothing reads them out.
      const full = row.querySelector(".know-full"), kept = [said.textContent, full.textContent];
      const show = button("Show", { className: "know-show", ariaLabel: `Show ${name}` });
      row.uncover = () => { [said.textContent, full.textContent] = kept; };
      show.addEventListener("click", () => {
        const next = rows.slice(rows.indexOf(row) + 1).find((each) => each.classList.contains("covered"));
        uncover(row);
        count();
        status.textContent = `${kept[0]}. ${status.textContent}`;
        (next?.querySelector(".know-show") || cover).focus();
      });
      row.classList.add("covered");
      said.replaceChildren(show);
      full.textContent = "";
    }

    cover.addEventListener("click", () => {
      const on = cover.ariaPressed !== "true";
      cover.ariaPressed = String(on);
      rows.forEach(uncover);
      if (on) rows.forEach(hide);
      count();
      document.querySelector(".know-show")?.focus();
    });
    place.append(cover, " ", status);
  });
})();
