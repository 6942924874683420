// A small engine for the tests of the front page: it answers in the shape of the real one, with figures that mean nothing.
(() => {
  const gpucalc = (window.gpucalc ||= {});
  const quantity = (unit, meaning, allowed, low, high, whole) => ({ unit, meaning, allowed, low, high, whole });
  const count = (meaning, unit = "") => quantity(unit, meaning, "a whole number of at least 1", 1, null, true);
  const above = (unit, meaning) => quantity(unit, meaning, "a number above 0", 0, null, false);
  const share = (meaning, unit = "") => quantity(unit, meaning, "a number above 0 and at most 1", 0, 1, false);
  const train = { kind: "train", needs: ["model", "training_tokens"], takes: ["cards", "provider", "region", "term", "sure",
    "recipe", "epochs", "sequence", "global_batch", "gpus", "deadline_days", "budget_usd", "corpus_bytes", "data_at"] };
  const offline = ["cards", "provider", "region", "term", "sure", "weight_format", "cache_element_bytes", "prompt", "output",
    "window_hours", "usd_per_month"];
  gpucalc.catalogue = {
    jobs: {
      pretrain: { title: "train a model from scratch", ...train,
        defaults: { recipe: "mixed-adamw", sequence: 4096, global_batch: 1024, sure: 0.8 } },
      qlora: { title: "tune adapters on a model in four bits", ...train, takes: [...train.takes, "lora_rank"],
        defaults: { recipe: "qlora", sequence: 4096, global_batch: 64, sure: 0.8 } },
      serve: { title: "serve a model to users", kind: "serve", needs: ["model", "requests_per_second|daily_users"],
        apart: ["requests_per_second|messages_per_day"],
        takes: ["cards", "provider", "region", "term", "sure", "weight_format", "cache_element_bytes", "messages_per_day",
          "busiest_hour_share", "prompt", "output", "cached_share", "first_token_limit", "token_limit", "answer_limit",
          "late_share", "most_load", "spare_replicas", "usd_per_month"],
        defaults: { weight_format: "BF16", prompt: 1000, output: 300, first_token_limit: 2, token_limit: 0.2, sure: 0.8,
          messages_per_day: 10, busiest_hour_share: 0.125, late_share: 0.05 } },
      images: { title: "describe or check many images", kind: "offline", needs: ["model", "images_per_day|window_requests"],
        takes: offline, defaults: { prompt: 576, output: 10, window_hours: 4, sure: 0.8 } },
      rent_or_buy: { title: "rent or buy GPUs", kind: "own", needs: ["gpu"],
        takes: ["provider", "region", "term", "sure", "gpus_per_server", "utilization", "years"], defaults: { sure: 0.8 } },
    },
    choices: {
      job: { label: "what to do", names: ["pretrain", "qlora", "serve", "images", "rent_or_buy"] },
      model: { label: "model", names: ["Llama-3-8B", "Llama-2-7B", "Llama-3-70B", "Llama-3.3-70B", "Qwen2.5-VL-7B"] },
      weight_format: { label: "format of the weights", names: ["BF16", "FP8", "NF4-DQ"] },
      recipe: { label: "training recipe", names: ["mixed-adamw", "qlora"] },
      cards: { label: "GPUs that may be used", names: ["any", "H100 SXM 80GB", "H200 SXM 141GB", "RTX 4090 24GB"] },
      gpu: { label: "GPU", names: ["H100 SXM 80GB", "H200 SXM 141GB", "RTX 4090 24GB"] },
      provider: { label: "provider", names: ["any", "Nebius", "AWS"] }, region: { label: "region", names: ["any", "us-east", "eu-west"] },
      term: { label: "how it is rented", names: ["any", "on-demand", "spot", "1-year"] },
      data_at: { label: "provider that holds the data", names: ["Nebius", "AWS"] },
      sure: { label: "share of cases in which the limits must hold", names: [0.5, 0.8, 0.9, 0.95] },
      rents: { label: "your own rents" }, cache_element_bytes: { label: "format of the cache" },
    },
    quantities: {
      requests_per_second: above("1/second", "requests a second"), daily_users: above("", "people who use it on a day"),
      messages_per_day: above("1/day", "messages that one of them sends on a day"),
      busiest_hour_share: share("share of a day's requests that come in its busiest hour", "day/hour"),
      window_requests: above("", "requests that must be done in the window"),
      images_per_day: { ...above("1/day", "images of a day"), example: 1e6 },
      prompt: count("tokens in the prompt"), output: count("tokens in the answer"),
      cached_share: quantity("", "share of the prompt that a prefix cache holds", "a number from 0 to 1", 0, 1, false),
      first_token_limit: above("second", "time in which the first token must come"),
      token_limit: above("second", "longest time between tokens"), answer_limit: above("second", "time of the whole answer"),
      late_share: share("share of requests that may be later"), most_load: share("most of the places that the peak may fill"),
      spare_replicas: quantity("", "replicas that may be out of service", "a whole number of at least 0", 0, null, true),
      usd_per_month: above("USD/month", "money to spend each month"), window_hours: above("hour", "hours for all of it"),
      cache_element_bytes: above("byte", "bytes of one cached element"), training_tokens: count("training tokens"),
      epochs: above("", "passes over the tokens"), sequence: count("training sequence length in tokens"),
      global_batch: count("sequences of a training step"), gpus: count("the most GPUs to use"),
      deadline_days: above("day", "days until the run has to be done"), budget_usd: above("USD", "money for the run"),
      corpus_bytes: quantity("byte", "bytes of the training data", "a number of at least 0", 0, null, false),
      lora_rank: quantity("", "rank of the adapters", "a whole number of at least 0", 0, null, true),
      gpus_per_server: count("GPUs in the server"), utilization: share("share of the hours that are used"),
      years: above("year", "years of use"),
    },
  };

  const WHY = { page: "kv_cache", text: "why: weights and cache" };
  const card = (id, title, big, plan, more) => ({ id, title, big, low: 0.8 * plan, plan, high: 1.2 * plan, bound: 0.5 * plan,
    scale: [0, 2 * plan], small: "eight in ten from here to there", note: "", binds: "", helps: null, why: WHY,
    bar: { low: 0.8 * plan, plan, high: 1.2 * plan, unit: "USD" }, ...more });

  gpucalc.answer = (state) => {
    const size = state.model_row ? 5 : 1 + String(state.model || "").length, load = state.requests_per_second || 1;
    const needed = gpucalc.catalogue.jobs[state.job].needs.filter((name) => name.split("|").every((key) => !(key in state)));
    const usd = 1000 * size * load;
    return {
      faults: needed.map((name) => ({ key: name.split("|")[0], text: `Give ${name.replace("|", " or ")}.` })),
      cards: needed.length ? [] : [
        card("fits", "Does it fit?", "2 × H200", size, { binds: "memory on a GPU" }),
        card("fast", "How fast?", "0.41 s, then 31 ms", 0.41 * size),
        card("many", "How many GPUs?", `${size} GPUs`, size,
          { helps: state.weight_format ? { text: "FP8 weights: half the GPUs", change: { weight_format: "FP8" } } : null }),
        card("cost", "What does it cost?", `$${usd.toLocaleString("en-US")} a month`, usd, { note: "a rent of 41 days ago" }),
        card("ways", "Rent, buy or API?", "rent", 6, { scale: null }),
        card("sure", "How sure?", "8 in 10", 0.8, { low: null, high: null, bound: null, scale: [0, 1] }),
      ],
      options: [
        { key: "h200", words: "H200, pairs, Nebius", gpus: 6, usd, low_usd: 0.8 * usd, high_usd: 1.2 * usd,
          reason: "cheapest with margin", state: { cards: "H200 SXM 141GB", provider: "Nebius" } },
        { key: "4090", words: "RTX 4090", gpus: null, usd: null, low_usd: null, high_usd: null, state: null,
          reason: "does not fit" },
      ],
      cautions: needed.length ? [] : ["Ask first whether they have them."],
      flips: [{ key: "term", value: "spot", text: "At spot rents, H100 wins." }],
      prices: { date: "2026-11-09", note: "The oldest is 13 days older." },
    };
  };

  gpucalc.readConfig = (text) => {
    try {
      const { name, layers } = JSON.parse(text);
      const row = { layers, hidden: 64 * layers, window: 0, attention: "GQA", unit: "count, tokens: 100 %", note: "" };
      return Number.isInteger(layers) ? { name: String(name), row } : { fault: "layers: not given" };
    } catch {
      return { fault: "This is no JSON." };
    }
  };
  gpucalc.readRents = (text) => {
    const rows = text.trim().split("\n").slice(1).map((line) => line.split(","));
    const question = ([gpu, usd]) => (usd > 0 ? `${gpu}: is ${usd} right?` : `${gpu}: no price`);
    const fault = (row, at) => ({ line: at + 2, text: question(row), ask: row[1] > 0 });
    return { rows, faults: rows.map(fault).filter(({ ask }, at) => !ask || rows[at][1] > 50), said: [] };
  };
})();
