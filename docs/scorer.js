// The order of search results: a function or an op stands above a page that explains, and decisions come last.
var Scorer = {
  score: function (result) {
    const page = result[0];
    if (page.startsWith("_generated/ops/")) return result[4] + 20;
    if (page === "_generated/functions" || page === "_generated/layers") return result[4] + 15;
    if (page.startsWith("decisions/") || page === "mutations") return result[4] - 20;
    return result[4];
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
