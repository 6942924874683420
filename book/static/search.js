// The order of search results: what readers call a page, its title, its headings, its text. What each counts is data of the index.
(() => {
  const split = (text) => text.toLowerCase().match(/%|[\p{L}\p{N}_]+/gu) || [];
  const within = (words, all) => all.some((_, at) => words.every((word, place) => all[at + place] === word));
  const files = (held) => (held === undefined ? [] : [held].flat());

  // Whether two words differ by a letter that is missing, added or another, or by two that are exchanged.
  function near(one, other) {
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    const [a, b] = [one.slice(at), other.slice(at)];
    return [[a.slice(1), b], [a, b.slice(1)], [a.slice(1), b.slice(1)], [a[1] + a[0] + a.slice(2), b]].some(([x, y]) => x === y);
  }

  function ranked(query, index, stem) {
    const { terms, titleterms, alltitles, titles, docnames, rules: { scores, words, parts, skip } } = index, asked = split(query);
    const known = (word) => word in terms || word in titleterms;
    const often = (word) => files(terms[word]).length, like = (word) => Object.keys(terms).filter((each) => near(each, word));
    const spelled = (word) => (known(word) || word.length < 5 ? word : like(word).sort((a, b) => often(b) - often(a))[0] || word);
    const wanted = [...new Set(asked.filter((word) => word !== "%" && ![...stopwords, ...skip].includes(word)).map(stem).map(spelled))];
    const pages = docnames.map((_, file) => ({ file, found: new Map(), more: parts[file], section: null, best: 0 }));
    const count = (file, word, score) => pages[file].found.set(word, Math.max(score, pages[file].found.get(word) || 0));
    for (const word of wanted) {
      files(terms[word]).forEach((file) => count(file, word, scores.text));
      const inside = word.length > 2 && !known(word) ? Object.keys(terms).filter((each) => each.includes(word)) : [];
      inside.forEach((each) => files(terms[each]).forEach((file) => count(file, word, scores.part)));
    }
    for (const [title, places] of Object.entries(alltitles)) {
      const line = split(title).map(stem), held = wanted.filter((word) => line.includes(word)), exact = held.length / line.length;
      for (const [file, id] of held.length ? places : []) {
        const own = titles[file] === title, page = pages[file];
        held.forEach((word) => count(file, word, own ? scores.title : scores.heading + exact));
        if (!own && held.length + exact > page.best) Object.assign(page, { best: held.length + exact, section: { title, id } });
      }
    }
    const plain = asked.map(stem).map(spelled);
    for (const [said, file] of words) {
      const each = split(said).map(stem);
      if (!within(each, plain)) continue;
      pages[file].more += scores.word * each.length;
      each.forEach((word) => wanted.includes(word) && count(file, word, scores.title));
    }
    const sum = ({ found, more }) => [...found.values()].reduce((a, b) => a + b, 0) * (found.size / wanted.length) ** 2 + more;
    const hits = pages.filter(({ found }) => found.size && 2 * found.size >= wanted.length).map((page) => ({ ...page, score: sum(page) }));
    return { whole: hits.some(({ found }) => found.size === wanted.length), hits: hits.sort((a, b) => a.score - b.score || b.file - a.file) };
  }

  Search._performSearch = (query) => {
    const index = Search._index, stemmer = new Stemmer(), { whole, hits } = ranked(query, index, (word) => stemmer.stemWord(word));
    document.getElementById("search-progress")?.replaceChildren();
    localStorage.setItem("sphinx_highlight_terms", split(query).filter((word) => word.length > 2).join(" "));   // else "a" marks letters
    if (!whole) {
      const said = Object.assign(document.createElement("p"), { className: "search-ask" }), href = `index.html?ask=${encodeURIComponent(query)}`;
      const link = { href, textContent: query, onclick: () => localStorage.removeItem("sphinx_highlight_terms") }; // there they mark no find
      said.append("No page has all these words. Ask the front page: ", Object.assign(document.createElement("a"), link));
      Search.output.before(said);
    }
    return hits.map(({ file, section, score }) => [index.docnames[file], index.titles[file] + (section ? ` › ${section.title}` : ""),
      section?.id ? `#${section.id}` : "", null, score, index.filenames[file]]);
  };
})();
