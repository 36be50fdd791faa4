"use strict";
// What a row of the report leads to: a page, a pair, a cluster, a site, by the address after #/.
(() => {
  const { all, badge, beside, changeTable, clusterTable, copyTable, crawlName, data, el, facts,
    link, many, none, SINCE, overview, pageLink, pages, pageTable, score, share, siteLink, sites, table,
    time } = window.report;
  const { kinds } = parts;
  const head = (kind, title) => [el("p", { class: "soft" }, kind),
    el("h2", { tabindex: -1 }, title)];
  const known = (id) => pages.has(id);
  const clusterOf = (id) => data.clusters.find((row) => row[0] === id);
  const copyOf = (id) => data.copies.find((row) => row[0] === id);

  const standing = (page) => {
    if (page.decision === "duplicate") return [badge("duplicate"), " of ", pageLink(page.original),
      ` Similarity ${page.similarity?.toFixed(2) ?? "?"}. `, copyOf(page.id)
        ? link(`pair/${page.id}`, "Side by side") : null];
    if (page.decision === "new") return [badge("new"), " its text was seen here first."];
    if (page.decision === "empty") return [badge("empty"), " too few words to compare."];
    return [badge(page.decision), ` ${page.error ?? ""}`];
  };

  const pageView = (id) => {
    const page = pages.get(id);
    if (!page) return null;
    const copies = data.copies.filter((row) => row[1] === id);
    return [head("Page", page.title || "(no title)"), facts([
      ["address", el("span", { class: "address" }, page.url)],
      ["site", siteLink(page.host)],
      ["decision", standing(page)],
      ["cluster", clusterOf(page.cluster)
        ? link(`cluster/${page.cluster}`, many(clusterOf(page.cluster)[1], "page")) : null],
      ["words", page.words], ["score", page.score === null
        ? null : `${score(page.score)} (expected F1 of its main text)`],
      ["type", page.type && `${page.type} (${share(page.probability)})`],
      ["seen", page.rendered ? "rendered in the browser" : page.render_error
        ? `as plain HTML: ${page.render_error}` : "as plain HTML"],
      ["HTTP status", page.status], ["error", page.error],
      ["first seen", time(page.first_seen)], ["last seen", time(page.last_seen)],
      ["last changed", time(page.last_changed)], ["last crawl", crawlName(page.crawl)],
    ]), el("h3", {}, "Visits"), table("Visits", [
      { name: "seen", time: true, value: (row) => row[0], cell: (row) => time(row[0]) },
      { name: "crawl", value: (row) => crawlName(row[1]) },
      { name: "decision", value: (row) => row[2], cell: (row) => badge(row[2]) },
      { name: "changed", number: true, value: (row) => row[2] === "changed" && row[3] !== null
        ? 1 - row[3] : null, cell: (row) => row[2] === "changed" && row[3] !== null
        ? share(1 - row[3]) : "" },
      { name: "repeated", wide: true, value: (row) => row[4],
        cell: (row) => row[4] === null ? "" : pageLink(row[4]) },
      { name: "reason", value: (row) => row[5] ?? "" },
    ], data.visits[id] || [], {}),
    data.compared[id] ? el("p", {}, link(`change/${id}`, "What changed at the last visit")) : null,
    copies.length ? [el("h3", {}, "Pages that repeat it"),
      copyTable("Pages that repeat it", copies, {})] : null];
  };

  const texts = (found, names) => {
    const boxes = beside(found[0], found[1], names.map((name) => name[0]));
    return [kinds(), found[2][0] ? none("Only the beginning of long texts is here.") : null,
      el("div", { class: "pair" }, boxes.map((box, place) => el("div", {},
        el("h3", {}, names[place][0]), el("p", {}, names[place][1]), box)))];
  };

  const pairView = (id) => {
    const row = copyOf(id);
    if (!row) return null;
    const [, original, similarity] = row, page = pages.get(id), found = data.texts[id];
    const through = page.cluster !== original && known(page.cluster) ? page.cluster : null;
    return [head("Pair", `Similarity ${similarity.toFixed(2)}`), facts([
      ["first seen", `the copy ${time(page.first_seen)}, what it repeats ` +
        time(pages.get(original).first_seen)],
      ["found", through === null ? "directly: the copy was compared with the page that it repeats"
        : ["directly; for both stands ", pageLink(through)]],
      ["near-duplicates", `from a similarity of ${all.similarity} on; a word that differs counts ` +
        "with the words around it"],
    ]), found ? texts(found, [["What it repeats", pageLink(original)], ["The copy", pageLink(id)]])
      : [el("h3", {}, "What it repeats"), el("p", {}, pageLink(original)), el("h3", {}, "The copy"),
        el("p", {}, pageLink(id)), none("Their texts are not in this file: the database keeps " +
          "none of them, or there was no more room. Give the crawl's feed with --items, or crawl with " +
          "WEBSEGMENT_KEEP_TEXTS.")]];
  };

  const changeView = (id) => {
    const page = pages.get(id), found = data.compared[id];
    if (!page || !found) return null;
    return [head("Change", page.title || page.url), el("p", {}, pageLink(id)),
      texts(found, [["Before", null], ["After", null]])];
  };

  const clusterView = (id) => {
    const row = clusterOf(id);
    if (!row) return null;
    const members = row[3];
    return [head("Cluster", `${many(row[1], "page")} of ${many(row[2], "site")} with the same text`),
      el("p", {}, "Each is similar to the page that represents them; the page that each was " +
        "found to repeat may be another one."),
      members.length < row[1] ? none(`${members.length} of them are in this file.`) : null,
      table("Pages of the cluster", [
        { name: "page", wide: true, value: (page) => pages.get(page).title + pages.get(page).url,
          cell: pageLink },
        { name: "site", value: (page) => pages.get(page).host,
          cell: (page) => siteLink(pages.get(page).host) },
        { name: "found by", wide: true, value: (page) => pages.get(page).original ?? 0,
          cell: (page) => page === id ? "represents the cluster"
            : pages.get(page).original === id ? "directly: repeats the representative"
            : ["through ", pageLink(pages.get(page).original)] },
        { name: "similarity", number: true, value: (page) => pages.get(page).similarity,
          cell: (page) => pages.get(page).similarity?.toFixed(2) ?? "" },
        { name: "pair", plain: true,
          cell: (page) => copyOf(page) ? link(`pair/${page}`, "side by side") : "" },
      ], members, {})];
  };

  const siteView = (host) => {
    const site = sites.find((each) => each.host === host);
    const own = [...pages.values()].filter((page) => page.host === host).map((page) => page.id);
    if (!site && !own.length) return null;
    const has = (id) => pages.get(id).host === host;
    const copies = data.copies.filter(([page, original]) => has(page) || has(original));
    const changes = data.changes.filter(([page]) => has(page));
    const clusters = data.clusters.filter((row) => row[3].some(has));
    return [head("Site", host || "(no host)"), site ? facts([
      ["pages", site.pages], ["new", site.new], ["duplicate", site.duplicate],
      ["empty", site.empty], ["failed", site.failed],
      ["copies of others", site.copies], ["copied by others", site.copied],
      ["words in all texts", site.words.toLocaleString("en-GB")],
      ["rendered", share(site.rendered / site.pages)], ["mean score", score(site.score)],
      ["first seen", time(site.first_seen)], ["last seen", time(site.last_seen)]]) : null,
    copies.length ? [el("h3", {}, "Copies"), copyTable("Copies", copies, {})] : null,
    clusters.length ? [el("h3", {}, "Clusters"), clusterTable("Clusters", clusters, {})] : null,
    changes.length ? [el("h3", {}, "Changes"), changeTable("Changes", changes, {})] : null,
    el("h3", {}, "Pages"), pageTable("Pages of the site", own, { all: site?.pages ?? 0 })];
  };

  const betweenView = (row, column) => {
    const { hosts, cells } = data.matrix;
    const cell = cells.find((each) => each[0] === row && each[1] === column);
    if (!cell) return null;
    const copies = data.copies.filter(([page, original]) =>
      pages.get(page).host === hosts[row] && pages.get(original).host === hosts[column]);
    return [head("Copies", `${hosts[row]} repeats ${hosts[column]}`),
      el("p", {}, `${many(cell[2], "page")}, similarity ${cell[3].toFixed(2)} on average.`),
      copyTable("Copies", copies, { all: cell[2] })];
  };

  const whyView = (place) => {
    const reason = data.reasons[place];
    return reason && [head(`Reason, ${many(reason[2], "page")}`, `${reason[0]}: ${reason[1]}`),
      table("The last pages", [
        { name: "page", wide: true, value: (id) => pages.get(id).url, cell: pageLink },
        { name: "status", number: true, value: (id) => pages.get(id).status },
        { name: "what was said", wide: true, value: (id) => pages.get(id).error
          ?? pages.get(id).render_error ?? "" },
        { name: "last seen", time: true, value: (id) => pages.get(id).last_seen,
          cell: (id) => time(pages.get(id).last_seen) },
      ], reason[3], { all: reason[2] })];
  };

  const sinceView = (kind) => {
    const change = data.difference?.changes.find((each) => each[0] === kind);
    if (!change) return null;
    const title = head("Since the crawl before", `${many(change[1], "page")} ${SINCE[kind]}`);
    const texts = kind === "changed" ? new Map(data.changes.map((row) => [row[0], row])) : new Map();
    return [title, change[2].every((id) => texts.has(id))
      ? changeTable("Pages", change[2].map((id) => texts.get(id)), { all: change[1] })
      : pageTable("Pages", change[2], { all: change[1] })];
  };

  const views = { page: (id) => pageView(Number(id)), pair: (id) => pairView(Number(id)),
    change: (id) => changeView(Number(id)), cluster: (id) => clusterView(Number(id)),
    site: (host) => siteView(decodeURIComponent(host)), why: (place) => whyView(Number(place)),
    since: sinceView, between: (row, column) => betweenView(Number(row), Number(column)) };

  const detail = document.getElementById("detail"), whole = document.getElementById("overview");
  const show = () => {
    const [, kind, ...rest] = window.location.hash.split("/");
    const inside = window.location.hash.startsWith("#/") && Object.hasOwn(views, kind ?? "");
    let found = null;
    if (inside) {
      try { found = views[kind](...rest); } catch (error) {
        if (!(error instanceof URIError)) throw error;
      }
      found ??= none("That is not in this file.");
    }
    detail.hidden = !inside; whole.hidden = inside;
    if (inside) {
      detail.replaceChildren(el("p", {}, link("", "← Overview")),
        ...[found].flat(Infinity).filter((node) => node !== null && node !== undefined));
      window.scrollTo(0, 0);
      detail.querySelector("h2")?.focus();
    } else if (window.location.hash.length > 2) {
      document.getElementById(window.location.hash.slice(1))?.scrollIntoView();
    } else window.scrollTo(0, 0);
  };
  overview();
  window.addEventListener("hashchange", show);
  show();
})();
