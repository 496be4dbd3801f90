// What axe finds wrong, an element each.
{
  const what = {
    runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa']},
    rules: {'target-size': {enabled: true}},
  };

  // axe passes over <noscript>, also where it is shown; meanwhile another element stands for it.
  const unwrap = noscript => {
    const stand = document.createElement('span');
    stand.style.display = getComputedStyle(noscript).display;
    stand.append(...noscript.childNodes);
    noscript.replaceWith(stand);
    return () => { noscript.append(...stand.childNodes); stand.replaceWith(noscript); };
  };

  rig.axe = async () => {
    const shown = [...document.body.querySelectorAll('noscript')].filter(el => el.children.length > 0);
    const back = shown.map(unwrap);
    try {
      const result = await axe.run(document, what);
      const findings = result.violations.flatMap(rule => rule.nodes.map(node => ({
        Rule: rule.id, Target: node.target.flat(Infinity).join(' '), HTML: node.html, Why: node.failureSummary.replace(/\s+/g, ' '),
      })));
      return {Tried: result.passes.length + result.violations.length, Findings: findings};
    } finally {
      back.forEach(undo => undo());
    }
  };
}
