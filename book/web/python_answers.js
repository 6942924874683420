// What functions that are printed from gpucalc/decisions ask of a case and of rows, as points.py and engine_flags.py do.
"use strict";
{
  const value_of = (job, name) => gpucalc.valueOf(job, name).number;
  const known = (value) => (Number.isNaN(value) ? null : value);

  function number_of(job, name) {
    if (job.inputs[name] === undefined && !gpucalc.isLaw(name)) return NaN;
    try {
      return value_of(job, name);
    } catch {
      return NaN;
    }
  }

  function given(job, name) {
    if (job.inputs[name] !== undefined) return known(number_of(job, name));
    const row = Object.values(job.rows).find((each) => Object.hasOwn(each, name));
    return row?.[name] ?? gpucalc.data.defaults[name] ?? null;
  }

  gpucalc.asked = {
    value_of, number_of, given,
    gpu: (name) => gpucalc.rowNamed("gpu", name),
    weight_format: (name) => gpucalc.rowNamed("weight_format", name),
    apart: (differs) => gpucalc.data.apart[differs],
    caches: () => gpucalc.limits.named.cache_element_bytes,
  };
}
