// A state of the page as a case of a job, by the checks of gpucalc/rows/case_file.py: every fault at once.
//
//   const { faults, rows, inputs, rents } = gpucalc.jobOf({ job: "serve", model: "Llama-3-70B", requests_per_second: 10 });
//   faults: [{ key, text }]; where there is none, rows and inputs are those of new gpucalc.Case(rows, inputs, axes)
//
// What names may be is in gpucalc.catalogue and gpucalc.limits, written by book/web/front.py, the rows in gpucalc.data.
// A state may hold two names more: `model_row`, a model's columns as `layers:80,hidden:8192`, and `rents`, lines as readRents
// takes them, which are returned as its rows.
"use strict";
window.gpucalc = window.gpucalc || {};
{
  const has = Object.hasOwn;
  const quantityOf = (name) => gpucalc.cases.quantity(name);
  const { shortened, shown } = gpucalc.text;
  const fault = (key, text) => ({ key, text: `${shortened(key, 60)}: ${text}` });

  function wordsFault(name, value) {
    if (typeof value !== "string") return `${shown(value)}; allowed: text`;
    const text = value.trim();
    if (gpucalc.cases.choice(name).free) {
      const good = text && value.length <= gpucalc.limits.letters && !gpucalc.text.hidden(value);
      const what = `any, or a name of 1 to ${gpucalc.limits.letters} characters without control and invisible ones`;
      if (good && name === "discount") return gpucalc.pasted.discount_fault(text) || null;
      return good ? null : `${shown(value)}; allowed: ${what}`;
    }
    const names = gpucalc.cases.choices(name), isList = gpucalc.limits.lists.includes(name);
    const chosen = isList ? text.split(",").map((each) => each.trim()) : [text];
    const strange = chosen.find((each) => !names.includes(each) || (each === "any" && chosen.length > 1));
    const several = names.length > 8 ? "a name of the catalogue" : names.join(", ");
    if (strange !== undefined) return `${shown(strange)}; allowed: ${several}`;
    return new Set(chosen).size < chosen.length ? `${shown(value)}; allowed: each once` : null;
  }

  function valueFault(name, value, state) {
    if (quantityOf(name) || value === null || value === undefined) return gpucalc.case_file.number_fault(name, value);
    return name === "model" && has(state, "model_row") ? null : wordsFault(name, value);
  }

  function* faultsOf(state) {
    const { jobs } = gpucalc.catalogue;
    if (!has(jobs, state.job)) {
      yield fault("job", `${shown(state.job ?? "")}; allowed: ${Object.keys(jobs).join(", ")}`);
      return;
    }
    const job = jobs[state.job], taken = [...job.needs.flatMap((each) => each.split("|")), ...job.takes, "discount"];
    for (const [name, value] of Object.entries(state)) {
      if (["job", "model_row", "rents"].includes(name)) continue;
      const found = taken.includes(name) ? valueFault(name, value, state)
        : `not for the job ${state.job}; allowed: ${taken.join(", ")}`;
      if (found) yield fault(name, found);
    }
    const { missing, joint_faults: jointFaults } = gpucalc.case_file;
    for (const [key, text] of [...missing(state, job.needs, job.apart), ...jointFaults(state, job.defaults)]) yield { key, text };
  }

  // The columns of a model as the page packs them; those that no model has are faults.
  function* modelFaults(row) {
    const { columns, texts } = gpucalc.reading.configs;
    const known = new Set([...columns, "uncounted_bytes", ...Object.values(gpucalc.configs.families()).flatMap(Object.keys)]);
    for (const [name, value] of Object.entries(row ?? {})) {
      const quantity = has(gpucalc.data.quantities, name) ? gpucalc.data.quantities[name] : null;
      const { least, most } = gpucalc.limits, sized = quantity ? gpucalc.allowed(name)(value) : Number.isFinite(value);
      const good = texts.includes(name) || (sized && gpucalc.case_file.spanned({ least, most }, value));
      if (!known.has(name) || !good) {
        const sizes = known.has(name) && sized ? `, 0 or from ${least} to ${most} in size` : "";
        yield fault("model", `${name} ${shown(value)}; allowed: ${quantity ? quantity[2] : "columns of a model"}${sizes}`);
      }
    }
    if (!row) yield fault("model_row", "no row of a model; allowed: layers:80,hidden:8192 and so on");
  }

  function ownRents(text) {
    const { rows, faults } = gpucalc.readRents(text);
    const wrong = faults.filter(({ ask }) => !ask).map(({ line, text: said }) => fault("rents", `line ${line}: ${said}`));
    return { rents: rows, faults: wrong };
  }

  // The row of that name: of a table, or a name and nothing else.
  function rowNamed(kind, name) {
    const table = gpucalc.catalogue.choices[kind]?.table;
    if (table) return gpucalc.row(table, name.trim());
    return { name: name.split(",").map((each) => each.trim()).join(", ") };
  }

  function jobOf(state) {
    const faults = [...faultsOf(state)], own = has(state, "rents") ? ownRents(state.rents) : { rents: [], faults: [] };
    const model = has(state, "model_row") ? gpucalc.cases.row(String(state.model_row)) : undefined;
    faults.push(...own.faults, ...(model === undefined ? [] : modelFaults(model)));
    if (faults.length) return { faults };
    const rows = { job: rowNamed("job", state.job) }, inputs = {}, usual = rows.job.recipe ? { recipe: rows.job.recipe } : {};
    for (const [name, value] of Object.entries({ ...usual, ...state })) {
      if (quantityOf(name)) inputs[name] = value;
      else if (name === "model" && model) rows.model = { name: value, ...model };
      else if (!["job", "model_row", "rents"].includes(name)) rows[name] = rowNamed(name, value);
    }
    return { faults, rows, inputs, rents: own.rents };
  }

  Object.assign(gpucalc, { jobOf, rowNamed });
}
