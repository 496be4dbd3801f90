// What is drawn on a screen: the mark that it is of, what it says of each thing by name, and the colours of signs.
() => {
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const flat = text => text.trim().replace(/\s+/g, ' ');
  const own = el => flat([...el.childNodes].filter(n => n.nodeType === Node.TEXT_NODE).map(n => n.data).join(' '));
  const names = ['well', 'moving', 'waiting', 'warn', 'bad', 'away'];
  const word = el => names.find(name => el?.classList.contains(name)) ?? 'none';
  const sign = within => {
    const el = within.querySelector('.sign');
    return el ? `${word(el)} ${el.textContent}` : 'none';
  };
  const said = {};

  const member = row => {
    const [name, state, , version, , , , placed] = row.cells;
    said[`${flat(name.textContent)} is`] = `${own(state)} ${flat(version.textContent)} ${flat(placed.textContent)}`;
    said[`${flat(name.textContent)} shows`] = sign(state);
  };
  const area = path => (path.getAttribute('d').match(/h\d+v\d+/g) ?? []).map(r => r.match(/\d+/g)).reduce((sum, [w, h]) => sum + w * h, 0);
  const group = li => {
    const name = li.querySelector('h3 a').textContent;
    said[`${name} shows`] = $$('.counts li', li).map(one => `${sign(one)} ${own(one).split(' ')[0]}`).sort().join(', ');
    said[`${name} draws`] = $$('path', li).filter(area).map(path => `${word(path)} ${area(path)}`).sort().join(', ');
  };
  const placement = (row, heads) => {
    const [name, state, want, picked, applied, available, failed, snapshot, ...groups] = [...row.cells];
    const key = flat(name.textContent);
    said[`${key} shows`] = `${sign(state)} ${own(state)} ${[want, picked, applied, available, failed, snapshot].map(cell => flat(cell.textContent)).join(' ')}`;
    groups.forEach((cell, i) => { if (cell.className) said[`${key} in ${heads[i]}`] = `${word(cell)} ${flat(cell.textContent)}`; });
  };
  const stand = row => {
    const cell = row.querySelector('td');
    if (row.id) said[`${flat(row.cells[0].textContent)} shows`] = `${sign(cell)} ${own(cell)}`;
  };
  const course = row => {
    const cell = row.querySelector('td.s');
    said[`${flat(row.cells[0].textContent)} is`] = `${sign(cell)} ${own(cell)}`;
  };

  const at = location.pathname;
  if (at === '/members') $$('tr[id^=m-]').forEach(member);
  if (at === '/') {
    $$('#summary li').filter(li => li.querySelector('.sign')).forEach(li => {
      const [count, state] = li.querySelector('a').textContent.split(' ');
      said[`${state} is`] = `${sign(li)} ${count}`;
    });
    $$('.groups > li').forEach(group);
  }
  if (at === '/placements') {
    const heads = $$('#placements thead th').slice(8).map(th => flat(th.textContent));
    $$('tr[id^=p-]').forEach(row => placement(row, heads));
  }
  if (at.startsWith('/placements/')) {
    const counts = $$('#placement .counts li').map(li => flat(li.textContent)).filter(text => /^\d+ (picked|current|applied|available)$/.test(text));
    const state = document.querySelector('#placement p:has(> .sign)');
    said['it shows'] = `${sign(state)} ${state.querySelector('strong').textContent} ${counts.join(' ')}`;
    $$('#members tbody tr').forEach(stand);
  }
  if (at.startsWith('/runs/')) {
    const head = document.querySelector('#run h2');
    said['it is'] = `${sign(head)} ${own(head).split(',')[0]} ${flat(document.querySelector('#run .counts li').textContent)}`;
    $$('#members tbody tr').forEach(course);
  }

  const colours = {};
  $$('.sign').forEach(el => { (colours[word(el)] ??= new Set()).add(getComputedStyle(el).color); });
  return {
    Mark: document.documentElement.dataset.mark ?? '', Said: said,
    Colours: Object.fromEntries(Object.entries(colours).map(([name, all]) => [name, [...all]])),
  };
}
