// One answer as a card for a wiki or a slide: embed.html?case=, and what the address of the front page has behind its #, encoded.
"use strict";
{
  const asked = new URLSearchParams(location.search).get("case") || location.hash.slice(1), { state, faults } = gpucalc.cases.fromAddress(asked);
  const first = state && gpucalc.answer(state), answer = first?.cards.length ? gpucalc.more(state, first) : first;
  const card = answer?.cards.find(({ id }) => id === "decision") ?? answer?.cards[0];
  const wrong = [...faults, ...(answer?.faults ?? []).map(({ text }) => text), ...(state ? [] : ["No case: allowed: embed.html?case=job%3Dserve%26model%3D..."])];
  const add = (tag, textContent, more = {}) => document.querySelector("main").append(Object.assign(document.createElement(tag), { textContent, ...more }));
  if (card) add("h1", card.big);
  for (const text of [card?.small, card?.note, ...wrong].filter(Boolean)) add("p", text);
  add("a", `GPU arithmetic, prices of ${gpucalc.prices.book_date}`, { href: `index.html${state ? `#${gpucalc.cases.address(state)}` : ""}`, target: "_top" });
}
