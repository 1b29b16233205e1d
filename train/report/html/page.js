'use strict';
// Tables sort by the buttons in their heads, by numbers where all cells start with one.
const number = s => {
  const m = s.replace(/[−–]/g, '-').replace(/^[≥≤<>~]\s*/, '').match(/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(?=$|[\s%±×[(,;])/i);
  return m ? parseFloat(m[0]) : NaN;
};
const empty = s => s === '' || s === '—';
for (const table of document.querySelectorAll('table.sorts')) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((th, at) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.append(...th.childNodes);
    th.append(b);
    th.setAttribute('aria-sort', 'none');
    b.addEventListener('click', () => {
      const down = th.ariaSort === 'ascending';
      heads.forEach(h => { h.ariaSort = 'none'; });
      th.ariaSort = down ? 'descending' : 'ascending';
      const rows = [...body.rows].map((row, i) => ({row, i, text: row.cells[at].textContent.trim()}));
      const numbers = rows.every(r => empty(r.text) || !isNaN(number(r.text)));
      rows.sort((a, b) => {
        if (empty(a.text) || empty(b.text)) return empty(a.text) - empty(b.text) || a.i - b.i;
        const c = numbers ? number(a.text) - number(b.text) : a.text.localeCompare(b.text, undefined, {numeric: true});
        return (down ? -c : c) || a.i - b.i;
      });
      body.append(...rows.map(r => r.row));
    });
  });
}
// Figures tell the point that is nearest to the mouse, or that arrow keys move to; legends hide and show.
const tip = document.createElement('div');
tip.className = 'tip';
tip.hidden = true;
document.body.append(tip);
for (const figure of document.querySelectorAll('figure.drawn')) {
  const said = figure.querySelector('.said');
  const curves = c => figure.querySelectorAll('.curve[data-c="' + c + '"]');
  for (const key of figure.querySelectorAll('.key[data-c]')) {
    const b = document.createElement('button');
    b.type = 'button';
    b.className = key.className.replace('key', '');
    b.append(...key.childNodes);
    b.setAttribute('aria-pressed', 'true');
    key.replaceWith(b);
    const of = key.dataset.c.split(' ');
    b.addEventListener('click', () => {
      const on = b.getAttribute('aria-pressed') !== 'true';
      b.setAttribute('aria-pressed', on);
      for (const c of of) curves(c).forEach(g => g.classList.toggle('off', !on));
    });
  }
  for (const plot of figure.querySelectorAll('.plot')) {
    const all = [...plot.querySelectorAll('.mark,.bar')].map(mark => {
      const title = mark.querySelector('title');
      const text = title ? title.textContent : '';
      if (title) title.remove();
      return {mark, text, curve: mark.closest('.curve')};
    }).filter(p => p.text);
    if (!all.length) continue;
    plot.setAttribute('tabindex', '0');
    plot.setAttribute('role', 'application'); // it takes the arrow keys
    plot.setAttribute('aria-label', plot.getAttribute('aria-label') + '; arrow keys go from point to point');
    let at = null;
    const there = p => !p.curve.classList.contains('off');
    const place = p => {
      const r = p.mark.getBoundingClientRect();
      return {x: r.left + r.width / 2, y: p.mark.classList.contains('bar') ? r.top : r.top + r.height / 2, r};
    };
    const hide = () => {
      plot.classList.remove('at');
      if (at) { at.mark.classList.remove('on'); at.curve.classList.remove('near'); }
      at = null;
      tip.hidden = true;
    };
    const show = (p, aloud) => {
      if (p === at) return;
      hide();
      at = p;
      plot.classList.add('at');
      p.mark.classList.add('on');
      p.curve.classList.add('near');
      tip.textContent = p.text;
      tip.hidden = false;
      const {x, y} = place(p), w = tip.offsetWidth, h = tip.offsetHeight;
      const wide = document.documentElement.clientWidth;
      tip.style.left = Math.max(4, Math.min(wide - w - 4, x - w / 2)) + window.scrollX + 'px';
      tip.style.top = (y - h - 12 < 0 ? y + 14 : y - h - 12) + window.scrollY + 'px';
      if (aloud && said) said.textContent = p.text;
    };
    plot.addEventListener('pointermove', e => {
      let best = null, least = 40 * 40;
      for (const p of all) {
        if (!there(p)) continue;
        const {x, y, r} = place(p);
        const bar = p.mark.classList.contains('bar') && e.clientX >= r.left && e.clientX <= r.right;
        const d = bar ? 0 : (x - e.clientX) ** 2 + (y - e.clientY) ** 2;
        if (d < least) { least = d; best = p; }
      }
      if (best) show(best); else hide();
    });
    plot.addEventListener('pointerleave', hide);
    plot.addEventListener('blur', hide);
    plot.addEventListener('keydown', e => {
      const way = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key], shown = all.filter(there);
      if (e.key === 'Escape') hide();
      if (!way || !shown.length) return;
      e.preventDefault();
      const i = shown.indexOf(at);
      show(shown[i < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, i + way))], true);
    });
  }
}
// What is folded is printed, except for numbers of figures.
let folded = [];
addEventListener('beforeprint', () => {
  folded = [...document.querySelectorAll('details:not([open]):not(.more)')];
  folded.forEach(d => { d.open = true; });
});
addEventListener('afterprint', () => folded.forEach(d => { d.open = false; }));
// The same as JSON.
const data = document.getElementById('data'), save = document.getElementById('save');
if (data && save) {
  const b = document.createElement('button');
  b.type = 'button';
  b.className = 'save';
  b.textContent = 'Save as JSON';
  b.addEventListener('click', () => {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(new Blob([data.textContent], {type: 'application/json'}));
    a.download = 'report.json';
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });
  save.append(b);
}
