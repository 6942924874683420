// The questions of an interview: filters, and points to tick that stay in the browser.
(() => {
  const KEY = "interview", { make, button, labelled, choice } = window.gpucalc;

  // What is kept between visits, if the browser allows it; else for this visit.
  const store = (() => {
    let held = {};
    try { held = JSON.parse(localStorage.getItem(KEY)) || {}; } catch { /* blocked, or not ours */ }
    if (typeof held !== "object" || Array.isArray(held)) held = {};
    const write = () => { try { localStorage.setItem(KEY, JSON.stringify(held)); } catch { /* blocked */ } };
    return {
      get: (name) => (held[name] && typeof held[name] === "object" ? held[name] : {}),
      put(name, value) { held[name] = value; write(); },
    };
  })();

  // The address holds `kind=design&role=training`, or a mock's `mock=45&role=training&seed=7`.
  const fromAddress = () => Object.fromEntries([...gpucalc.fromAddress()].map(([key, values]) => [key, values.join(",")]));
  const toAddress = (held) => gpucalc.toAddress(Object.entries(held).map(([key, value]) => [key, [value]]));

  function read(element) {
    const { roles, topic, minutes } = element.dataset;
    return {
      element, name: element.id.slice(2), kind: element.closest(".bank").dataset.kind, roles: roles.split(" "), topic,
      minutes: Number(minutes), title: element.querySelector("summary strong").textContent,
      points: [...element.querySelectorAll(".points > li")].map((point) => point.textContent),
    };
  }

  const questions = () => [...document.querySelectorAll("details.question")].map(read);

  // A box before each point. `held` are the places of those that are ticked, `keep` is told of each change.
  function boxes(list, held, keep) {
    list.querySelectorAll(":scope > li").forEach((point, place) => {
      const box = make("input", { type: "checkbox", checked: held.includes(place) });
      const places = () => [...list.querySelectorAll("input")].flatMap((each, at) => (each.checked ? [at] : []));
      box.addEventListener("change", () => keep(places()));
      point.replaceChildren(make("label", {}, box, make("span", {}, ...point.childNodes)));
    });
  }

  function ticked(question) {
    const held = store.get("ticks")[question.name];
    return Array.isArray(held) ? held.filter((place) => place < question.points.length) : [];
  }

  function tick(name, places) {
    store.put("ticks", { ...store.get("ticks"), [name]: places });
    document.dispatchEvent(new CustomEvent("ticked", { detail: name }));
  }

  function dress(question) {
    const { element, points } = question, said = make("span", { className: "said" });
    element.querySelector("summary").append(" ", said);
    const show = () => {
      const count = ticked(question).length;
      said.textContent = count ? `${count} of ${points.length} said` : "";
      element.querySelectorAll(".points input").forEach((box, place) => { box.checked = ticked(question).includes(place); });
    };
    boxes(element.querySelector(".points"), ticked(question), (places) => tick(question.name, places));
    document.addEventListener("ticked", ({ detail }) => (!detail || detail === question.name) && show());
    show();
  }

  const options = (labels) => [["", "any"], ...Object.entries(labels)];

  function finder(labels) {
    const place = document.querySelector(".interview-find"), search = make("input", { type: "search", autocomplete: "off" });
    const minutes = labels.minutes.map((each) => [each, `${each} min`]);
    const selects = {
      kind: choice(options(labels.kind)), role: choice(options(labels.role)), topic: choice(options(labels.topic)),
      minutes: choice([["", "any"], ...minutes]),
    };
    const count = make("span", { className: "interview-count", role: "status" });
    const text = new Map();

    function fits(question) {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), { kind, role, topic, minutes: length } = selects;
      if (!text.has(question.name)) text.set(question.name, question.element.textContent.toLowerCase());
      return (!kind.value || question.kind === kind.value) && (!role.value || question.roles.includes(role.value))
        && (!topic.value || question.topic === topic.value) && (!length.value || question.minutes === Number(length.value))
        && words.every((word) => text.get(question.name).includes(word));
    }

    function match() {
      const all = questions();
      for (const question of all) question.element.hidden = !fits(question);
      for (const bank of document.querySelectorAll(".bank")) {
        (bank.closest("section") || bank).hidden = !bank.querySelector("details.question:not([hidden])");
      }
      const found = all.filter((question) => !question.element.hidden).length;
      count.textContent = found === all.length ? `${found} questions` : `${found} of ${all.length} questions`;
    }

    function keep() {
      const chosen = Object.entries(selects).map(([key, select]) => [key, select.value]);
      toAddress({ ...Object.fromEntries(chosen), find: search.value.trim() });
    }

    const change = () => (match(), keep());
    function restore() {
      const held = fromAddress();
      if (held.mock) return match();
      for (const [key, select] of Object.entries(selects)) {
        select.value = [...select.options].some((each) => each.value === held[key]) ? held[key] : "";
      }
      search.value = held.find || "";
      match();
    }

    search.addEventListener("input", change);
    for (const select of Object.values(selects)) select.addEventListener("change", change);
    const reset = button("Reset", () => {
      for (const control of [search, ...Object.values(selects)]) control.value = "";
      change();
    });
    const forget = button("Clear my checks", () => (store.put("ticks", {}), document.dispatchEvent(new CustomEvent("ticked"))));
    place.append(labelled("Search", search), labelled("Kind", selects.kind), labelled("Role", selects.role),
      labelled("Topic", selects.topic), labelled("Minutes", selects.minutes), reset, forget, count);
    addEventListener("hashchange", restore);
    restore();
  }

  // A link to a question opens it.
  function reveal() {
    const name = location.hash.slice(1);
    if (!/^q-\w+$/.test(name)) return;
    const found = document.getElementById(name);
    if (!found) return;
    found.open = true;
    found.scrollIntoView();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const labels = JSON.parse(document.querySelector(".interview-find")?.dataset.labels || "{}");
    questions().forEach(dress);
    if (document.querySelector(".interview-find")) finder(labels);
    addEventListener("hashchange", reveal);
    reveal();
    window.interview = { options, store, fromAddress, toAddress, questions, boxes, tick, labels };
    document.dispatchEvent(new CustomEvent("interview"));
  });
})();
