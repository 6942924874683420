// Rents of the reader's own, pasted as lines of gpu and usd_per_hour; names, numbers and terms are read by functions of
// gpucalc/rows/intake.py, which book/web/printed.py prints as gpucalc.rents.
//
//   gpucalc.readRents(text)                   // { rows, faults, said }
//   rows: [{ gpu, usd_per_hour, gpus_per_server, provider, region, term }], one GPU's price in USD; a price that is billed by
//     the GPU has a row for each machine in which it is to be had
//   faults: [{ line, text }]; with `ask`, a question on a row that is read all the same
//   said: [{ line, text }], what was taken for granted
//
// With a header, columns may stand in any order, and provider, gpus, term, region, currency and price (of the whole machine) are
// read too; without one, a line is gpu and usd_per_hour. Cells stand between commas, semicolons or tabs.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const MOST_LETTERS = 200_000, MOST_LINES = 2_000, MOST_FAULTS = 200, LONGEST_CELL = 300;
  const NUMBER_WANTED = "a number such as 2.10";
  const has = Object.hasOwn;
  const names = () => gpucalc.reading.rents;
  const { py, rents } = gpucalc;
  const fault = (message) => new py.Fault(message);

  // What the printed functions ask for: rows by the name of their table, and what to say of a GPU or a term that is not known.
  gpucalc.own = {
    architectures: () => gpucalc.reading.configs,
    rows: (table) => names()[table],
    termsOf: () => names().items.rent.terms.join(", "),
    alike(name, given) {
      const keys = Object.keys(names().gpus), within = keys.filter((key) => key.toLowerCase().includes(name.toLowerCase()));
      const close = within.length ? within : keys.filter((key) => rents._family(key).split(" ").some((word) => given.includes(word)));
      return close.length ? `; close: ${close.slice(0, 4).join(", ")}` : "";
    },
  };

  // Cells of a line, quoted where they hold a separator.
  function cellsOf(line, separator) {
    const cells = [];
    const cell = new RegExp(` *(?:"((?:[^"]|"")*)" *|((?!")[^${separator}]*))(${separator}|$)`, "y");
    for (let end = separator; end;) {
      const found = cell.exec(line);
      if (!found) throw fault("a cell with a quote that does not fit; allowed: quotes around a whole cell");
      cells.push((found[1]?.replaceAll('""', '"') ?? found[2]).trim());
      end = found[3];
    }
    return cells;
  }

  // One pasted text: its columns, and its lines as rows.
  class Rents {
    constructor() {
      Object.assign(this, { rows: [], faults: [], said: [], offers: new Map(), larger: new Map(), names: names() });
    }

    read(text) {
      const lines = text.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
      if (text.length > MOST_LETTERS || lines.length > MOST_LINES) {
        const most = `${py.format(MOST_LETTERS, ",")} letters in ${py.format(MOST_LINES, ",")} lines`;
        return this.refuse(1, `a longer text; allowed: ${most}; make book PRICES=FILE reads more`);
      }
      const filled = lines.map((line, place) => ({ line: place + 1, text: line })).filter((each) => each.text.trim());
      if (!filled.length) return this.refuse(1, "no lines; allowed: gpu, usd_per_hour");
      const separator = ["\t", ";", ","].find((each) => filled[0].text.includes(each)) ?? ",";
      const records = filled.flatMap((each) => this.tried(each.line, () => ({ ...each, cells: cellsOf(each.text, separator) })));
      if (!records.length) return null;
      const body = this.headed(records);
      if (!body.length && !this.faults.length) this.refuse(records[0].line, "no lines below the header; allowed: at least one");
      this.marks = Object.fromEntries(Object.entries(this.at).map(([field, place]) => {
        const amounts = body.map(({ cells }) => rents.amount(cells[place] ?? "")).filter(Boolean);
        return [field, rents.agreed(amounts.map(({ number }) => rents.readings(number)))];
      }));
      body.forEach((each) => this.tried(each.line, () => this.add(each)));
      this.rows.push(...this.withLarger());
      return null;
    }

    // What is billed by the GPU in larger machines too, but for those that the text prices itself.
    withLarger() {
      const machines = this.rows.flatMap((row) => this.larger.get(row).map((size) => ({ ...row, gpus_per_server: size })));
      return machines.filter(({ usd_per_hour: _, ...offer }) => !this.offers.has(JSON.stringify(offer)));
    }

    refuse(line, text, more = {}) {
      if (this.faults.length < MOST_FAULTS) this.faults.push({ line, text, ...more });
      return null;
    }

    // What a step gives as a list of one; an empty list, and a fault of the line, where it can't.
    tried(line, step) {
      try {
        return [step()];
      } catch (error) {
        if (!(error instanceof py.Fault)) throw error;
        this.refuse(line, error.message);
        return [];
      }
    }

    // The records below the header; `at` says where a field stands, `titles` how its column is called.
    headed(records) {
      const header = records[0].cells;
      const columns = header.map((title) => rents.column(title));
      const plainOrder = !columns.some(Boolean);
      const fields = plainOrder ? ["gpu", this.names.per_gpu] : columns.map((column) => column?.field);
      this.at = Object.fromEntries(fields.map((field, place) => [field, place]).filter(([field]) => field));
      this.titles = plainOrder ? fields : header;
      this.currencies = plainOrder ? [] : columns.map((column) => column?.currency ?? "");
      const twice = fields.find((field, place) => field && fields.indexOf(field) !== place);
      if (twice) {
        this.refuse(records[0].line, `two columns of ${twice}; allowed: one`);
        return [];
      }
      const priced = this.names.per_gpu in this.at || this.names.whole in this.at;
      if (!("gpu" in this.at) || !priced) {
        this.refuse(records[0].line, "a header without gpu or a price; allowed: gpu, usd_per_hour");
        return [];
      }
      header.forEach((title, place) => plainOrder || fields[place]
        || this.say(records[0].line, `column ${gpucalc.text.shortened(title, 40) || place + 1} is not read`));
      return plainOrder ? records : records.slice(1);
    }

    say(line, text) {
      this.said.push({ line, text });
    }

    bad(field, text, allowed) {
      const shown = text ? `'${gpucalc.text.shortened(text, 60)}'` : "blank";
      return fault(`${gpucalc.text.shortened(this.titles[this.at[field]] ?? field, 40)}: ${shown}; allowed: ${allowed}`);
    }

    // Runs a step for a cell, whose fault then names the column and the cell.
    of(field, text, step) {
      try {
        return step(text);
      } catch (error) {
        throw error instanceof py.Fault ? this.bad(field, text, error.message) : error;
      }
    }

    add({ line, cells }) {
      if (cells.slice(this.titles.length).some(Boolean)) {
        const titles = gpucalc.text.shortened(this.titles.join(", "));
        throw fault(`${cells.length} cells; allowed: ${this.titles.length}, as in ${titles}; a decimal comma wants semicolons or `
          + "tabs between cells, further columns want a header");
      }
      const cell = (field) => (field in this.at ? cells[this.at[field]] ?? "" : "");
      for (const field of Object.keys(this.at)) {
        const isShown = cell(field).length <= LONGEST_CELL && !gpucalc.text.hidden(cell(field));
        if (!isShown) throw this.bad(field, cell(field), `at most ${LONGEST_CELL} characters, none of them control or invisible`);
      }
      if (!["", "rent", "rents", "rental"].includes(cell("item").toLowerCase())) throw this.bad("item", cell("item"), "rent");
      this.keep(line, this.row(line, cell));
    }

    row(line, cell) {
      const { names } = this;
      if (!cell("gpu")) throw this.bad("gpu", "", "a gpu of data/gpus.csv");
      const [name, many] = has(names.gpus, cell("gpu")) ? [cell("gpu"), 0] : rents.counted(cell("gpu"));
      const [gpu, remark] = this.of("gpu", cell("gpu"), () => rents.gpu_named(name));
      if (remark) this.say(line, remark);
      const usual = names.items.rent.terms[0];
      const [term, taken] = cell("term") ? this.of("term", cell("term"), (text) => rents.term_named(text, "rent"))
        : [usual, `term not stated: taken as ${usual}`];
      if (taken) this.say(line, taken);
      const size = this.size(cell, many), larger = size ? [] : names.larger[gpu];
      if (!size) this.say(line, names.by_the_gpu[larger]);
      if (size > 1 && cell("gpus_per_server") && cell(names.per_gpu) && !cell(names.whole)) {
        this.say(line, `'${gpucalc.text.shortened(this.titles[this.at[names.per_gpu]], 40)}' is taken as the price of one GPU of `
          + `several in a machine; a price of the whole machine goes into a column ${names.whole}`);
      }
      const row = { gpu, usd_per_hour: this.price(line, cell, size || 1), gpus_per_server: size || 1,
        provider: cell("provider") || names.provider, region: cell("region") || names.region, term };
      this.larger.set(row, larger);
      return row;
    }

    // GPUs in the machine; 0 where a price of one GPU says nothing of it.
    size(cell, many) {
      const text = cell("gpus_per_server");
      const given = Number(/^(\d+) ?(?:x|gpus?)?$/i.exec(rents.plain(text))?.[1]);
      if (text && !(given >= 1 && given <= this.names.most_gpus)) {
        throw this.bad("gpus_per_server", text, `a whole number from 1 to ${py.format(this.names.most_gpus, ",")}`);
      }
      if (text && many && given !== many) throw this.bad("gpus_per_server", text, `${many}, the number in the GPU's name`);
      if (text || many) return text ? given : many;
      if (!cell(this.names.per_gpu) && cell(this.names.whole)) {
        throw this.bad("gpus_per_server", "",
          `how many GPUs the price is of; the price of one GPU goes into a column ${this.names.per_gpu}`);
      }
      return 0;
    }

    // USD an hour for one GPU.
    price(line, cell, size) {
      const { per_gpu: one, whole: all } = this.names, { low, high } = this.names.items.rent;
      const found = [one, all].filter(cell).map((field) => {
        const amount = this.of(field, cell(field), (text) => this.dollars(line, text, field, cell("currency")));
        const value = field === all ? amount / size : amount;
        if (value >= low && value <= high) return value;
        throw this.bad(field, cell(field), `${low} to ${py.format(high, ",")} USD/h for one GPU`);
      });
      if (!found.length) throw this.bad(one in this.at ? one : all, "", `${NUMBER_WANTED}; a row without a price goes`);
      if (found.length === 2 && Math.abs(found[0] - found[1]) > 0.01 * found[1]) {
        throw this.bad(one, cell(one), `${rents._in_usd(found[1])}, the price of the whole over its ${size} GPUs; or one of both blank`);
      }
      return found[0];
    }

    // The number in a cell, which is in USD and by the hour.
    dollars(line, text, field, currency) {
      const found = rents.amount(text);
      if (!found) throw fault(NUMBER_WANTED);
      if (found.negative) throw fault("a price above 0");
      if (found.currency === "?") throw fault("one currency by its code, such as USD or EUR");
      const codes = [found.currency, this.currencies[this.at[field]], currency].map((each) => py.get(this.names.symbols, each, each));
      const other = codes.find((code) => code && code.toUpperCase() !== "USD");
      if (other) throw fault(`USD; for ${gpucalc.text.shortened(other.toUpperCase(), 10)}, what it is in USD`);
      const times = rents.times_an_hour(found.rest);
      if (times !== 1) throw fault(times ? "a price per hour" : `${NUMBER_WANTED} in USD/h`);
      const [value, doubtful] = rents.settled(found.number, this.marks[field], this.names.items.rent.high);
      if (doubtful) this.say(line, `${found.number} is read as ${py.format(value, "g")}: thousands are not plausible`);
      return value;
    }

    // Keeps a row. One that says the same as another counts once, one of another price is a fault, an odd price is asked about.
    keep(line, row) {
      const { usd_per_hour: price, ...offer } = row;
      const key = JSON.stringify(offer);
      const other = this.offers.get(key);
      if (other?.price === price) return this.say(line, `says the same as line ${other.line}: counted once`);
      if (other) throw fault(`one price of an offer; line ${other.line} has the same gpu, provider, region and term`);
      this.offers.set(key, { line, price });
      this.rows.push(row);
      return this.beside(line, row);
    }

    // Where a rent stands among those of the book, and the question on one that lies far from them: on the term if there are any,
    // else on all.
    beside(line, { gpu, usd_per_hour: price, gpus_per_server, term }) {
      const known = has(this.names.prices, gpu) ? this.names.prices[gpu] : {}, same = known[term];
      const prices = same ?? py.sorted(Object.values(known).flat());
      if (same) this.say(line, rents.standing(price, gpu, term, same));
      const row = { item: "rent", gpu, gpus_per_server, price: price * gpus_per_server };
      const spread = prices.length && new rents.Spread(prices.length, prices[0], prices.at(-1), py.median(prices));
      const question = spread && rents.question(row, spread);
      return question ? this.refuse(line, question, { ask: true }) : null;
    }
  }

  gpucalc.readRents = (pasted) => {
    const found = new Rents();
    found.read(String(pasted));
    return { rows: found.rows, faults: found.faults, said: found.said };
  };
}
