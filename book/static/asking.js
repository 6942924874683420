// Where the answers of the front page are made: in a worker, so that the page never waits for them; by the page itself where a
// browser starts none, as for a page that is a file.
//
//   gpucalc.asking(state, hear)      // hear(answer) with the cards, and again with all that is told; returns what stops it
//   gpucalc.answered(state)          // the answer with the cards, or as `ask` gives it, or what went wrong as its fault
//
// The worker is this script too, behind those that answer, which the page names.
"use strict";
if (!self.document) self.window = self;
self.gpucalc ??= {};

gpucalc.answered = (state, ask = gpucalc.answer) => {
  try {
    return ask(state);
  } catch (error) {
    console.error(error);
    return { faults: [{ key: "", text: `No answer to this: ${error.message}` }], cards: [], cautions: [], options: [], flips: [] };
  }
};

if (self.document) {
  const script = document.currentScript.src;
  let worker = null, hears = null, asked = 0;

  function started() {
    const made = new Worker(script), all = [...document.scripts].map(({ src }) => src);
    made.postMessage({ scripts: all.slice(all.findIndex((src) => /\/(answers|figures)\.js/.test(src)), all.indexOf(script)) });
    made.onmessage = ({ data: { number, answer } }) => { if (number === asked) hears.hear(answer); };
    made.onerror = (event) => {
      event.preventDefault();
      made.terminate();
      worker = false;
      if (hears) hears.stop = byThePage(hears.state, hears.hear);
    };
    return made;
  }

  function byThePage(state, hear) {
    const answer = gpucalc.answered(state);
    hear(answer);
    return gpucalc.more?.(state, answer, hear) ?? (() => {});
  }

  gpucalc.asking = (state, hear) => {
    if (worker === null) {
      try {
        worker = location.protocol.startsWith("http") && started();
      } catch {
        worker = false;
      }
    }
    if (!worker) return byThePage(state, hear);
    const number = ++asked, mine = { state, hear, stop: () => { if (number === asked) asked += 1; } };
    hears = mine;
    worker.postMessage({ number, state });
    return () => mine.stop();
  };
} else {
  let stop = () => {};
  addEventListener("message", ({ data: { scripts, number, state } }) => {
    if (scripts) return importScripts(...scripts);
    stop();
    const answer = gpucalc.answered(state);
    postMessage({ number, answer });
    stop = gpucalc.more(state, answer, (fuller) => postMessage({ number, answer: fuller }));
  });
}
