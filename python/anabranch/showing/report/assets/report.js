// Draws the charts when they come into view, and colours the fabric. Makes no request of any kind.

const specs = JSON.parse(document.getElementById('specs').textContent);
const options = {
  renderer: 'svg',
  mode: 'vega-lite',
  actions: {export: {svg: true, png: false}, source: false, compiled: false, editor: false},
};

const hidden = new Set();
const views = [];

function draw(place) {
  if (place.dataset.drawn) return Promise.resolve();
  place.dataset.drawn = 'yes';
  const spec = specs[place.dataset.spec];
  return spec.usermeta ? drawOverTime(place, spec, show) : show(place, spec);
}

// Returns the view, which takes the place of another.
async function show(place, spec, instead = null) {
  // Rows below each other cannot take their width from the page.
  for (const row of spec.vconcat ?? []) row.width = Math.max(180, place.clientWidth - 78);
  instead?.finalize();
  const {view} = await vegaEmbed(place, spec, options);
  views.splice(instead ? views.indexOf(instead) : views.length, instead ? 1 : 0, view);
  hide(view);
  return view;
}

// Every chart has a parameter `hidden`: the names of series that are not drawn.
function hide(view) {
  try { view.signal('hidden', [...hidden]).runAsync(); } catch { /* a chart without series */ }
}

for (const button of document.querySelectorAll('.legend button')) {
  button.addEventListener('click', () => {
    const name = button.dataset.series;
    if (!hidden.delete(name)) hidden.add(name);
    for (const other of document.querySelectorAll('.legend button')) {
      if (other.dataset.series === name) other.setAttribute('aria-pressed', String(!hidden.has(name)));
    }
    views.forEach(hide);
  });
}

// A chart inside closed details has no width yet: draw it when they open.
const charts = [...document.querySelectorAll('.chart')];
const seen = chart => !chart.closest('details:not([open])');
const ready = Promise.all(charts.filter(seen).map(draw));
for (const panel of document.querySelectorAll('details.panel')) {
  panel.addEventListener('toggle', () => [...panel.querySelectorAll('.chart')].filter(seen).forEach(draw));
}
ready.then(() => { document.documentElement.dataset.ready = 'yes'; });

const fabric = JSON.parse(document.getElementById('fabric-data').textContent);
if (fabric) {
  const form = document.getElementById('fabric-form');
  const parent = document.getElementById('links');
  const paths = [...parent.children];
  const bounds = [...document.querySelectorAll('#scale .bound')];
  const format = value => Number(value.toPrecision(3)).toLocaleString('en');
  let numbers, metric;

  // Directed link 2l runs from a to b, 2l + 1 back; `up` says whether b is the higher end.
  const up = link => numbers[2 * link + (fabric.up[link] ? 0 : 1)];
  const down = link => numbers[2 * link + (fabric.up[link] ? 1 : 0)];
  const choose = {up, down, both: link => Math.max(up(link), down(link))};

  const show = () => {
    const choice = new FormData(form);
    metric = choice.get('metric');
    numbers = fabric.views[choice.get('view')][metric];
    const value = choose[choice.get('direction')];
    const steps = fabric.steps[metric];
    const step = number => steps.filter(bound => number > 0 && number >= bound).length;
    paths.forEach((path, link) => path.setAttribute('class', 'q' + step(value(link))));
    // The busiest links last, on top.
    [...paths.keys()].sort((a, b) => value(a) - value(b)).forEach(link => parent.append(paths[link]));
    bounds.forEach((bound, place) => {
      bound.textContent = place ? '≥ ' + format(steps[place - 1]) : '< ' + format(steps[0]);
    });
    const name = input => (form.querySelector(`input[name=${input}]:checked`)?.parentElement
      ?? form.querySelector(`select[name=${input}]`).selectedOptions[0]).textContent.trim();
    document.getElementById('fabric-title').textContent =
      `${name('view')}: ${name('metric')} (${fabric.units[metric]}), ${name('direction')}`
      + (choice.get('direction') === 'both' ? ' of the two directions' : '');
  };

  const line = document.getElementById('fabric-link');
  let current = -1;
  const read = link => {
    paths[current]?.classList.remove('seen');
    current = link;
    paths[link].classList.add('seen');
    const [a, b] = fabric.links[link];
    const unit = fabric.units[metric];
    line.textContent = `${a} → ${b}: ${format(numbers[2 * link])} ${unit}; `
      + `${b} → ${a}: ${format(numbers[2 * link + 1])} ${unit}`;
  };
  parent.addEventListener('pointerover', event => {
    const link = paths.indexOf(event.target);
    if (link >= 0) read(link);
  });
  parent.addEventListener('keydown', event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!step) return;
    event.preventDefault();
    read((current + step + paths.length) % paths.length);
  });
  form.addEventListener('change', show);
  show();
}
