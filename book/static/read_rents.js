// Rents of the reader's own, pasted as lines of gpu and usd_per_hour: book/web/pasted.py reads them, which book/web/printed.py
// prints as gpucalc.pasted, by functions of gpucalc/rows/intake.py, gpucalc.rents.
//
//   gpucalc.readRents(text)                   // { rows, faults, said }
//   rows: [{ gpu, usd_per_hour, gpus_per_server, provider, region, term, quote }], one GPU's price in USD
//   faults: [{ line, text }]; with `ask`, a question on a row that is read all the same
//   said: [{ line, text }], what was taken for granted
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const names = () => gpucalc.reading.rents;

  // What the printed functions ask for: rows by the name of their table, and what to say of a term.
  gpucalc.own = {
    architectures: () => gpucalc.reading.configs,
    rows: (table) => names()[table],
    termsOf: () => names().items.rent.terms.join(", "),
    byTheGpu: (larger) => names().by_the_gpu[larger],
  };

  gpucalc.readRents = (pasted) => {
    const { larger, prices } = names(), found = new gpucalc.pasted.Rents(larger, prices);
    found.read(String(pasted));
    return { rows: found.rows, faults: found.faults, said: found.said };
  };
}
