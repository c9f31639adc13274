// Rows over time: drawn from all samples, as finely as the part that is shown has room for, and those that a reader chooses.

const FULL = 0xFFFF;  // what stands for the greatest value of a curve

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint16Array(await new Response(stream).arrayBuffer());
}

// A row like the template, for other curves.
function rowOf(template, strip, points, place, last, unit) {
  const made = structuredClone(template);
  const labels = strip.curves.map(curve => curve.label);
  made.title.text = strip.title;
  made.data = {name: `samples${place}`, values: points};
  Object.assign(made.encoding.x.axis, {labels: last, ticks: last, title: last ? `time (${unit})` : null});
  if (place) made.layer = made.layer.filter(layer => layer.mark.type !== 'text');
  const [lines, cursor] = made.layer;
  lines.transform[0].fold = labels.map((_, n) => `s${n}`);
  lines.transform[1].calculate = `${JSON.stringify(labels)}[toNumber(slice(datum.field, 1))]`;
  lines.encoding.y.title = strip.unit;
  cursor.name = `row${place}`;
  cursor.encoding.tooltip = [cursor.encoding.tooltip[0], ...labels.map((label, n) => (
    {field: `s${n}`, type: 'quantitative', title: `${label} (${strip.unit})`, format: '.4~g'}))];
  return made;
}

// The points of a row for samples `from` to `to`: as many as there is room for, each of neighbours joined.
function pointsOf(strip, about, from, to) {
  const count = to - from, parts = Math.min(about.moments, count), rows = [];
  let begin = from;
  for (let part = 0; part < parts; part++) {
    const end = begin + Math.floor(count / parts) + (part < count % parts ? 1 : 0);
    const row = {x: (about.begin + end * about.step) / about.scale};
    strip.curves.forEach(({most, values}, n) => {
      let sum = 0, largest = 0;
      for (let place = begin; place < end; place++) {
        sum += values[place];
        largest = Math.max(largest, values[place]);
      }
      row[`s${n}`] = (strip.largest ? largest : sum / (end - begin)) * most / FULL;
    });
    rows.push(row);
    begin = end;
  }
  return rows;
}

function timeText(ns) {
  const [scale, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([scale]) => ns >= scale) ?? [1, 'ns'];
  return `${Number((ns / scale).toPrecision(3))} ${unit}`;
}

async function drawOverTime(place, spec, embed) {
  const about = spec.usermeta;
  const strips = await Promise.all(about.strips.map(async strip => ({
    ...strip,
    curves: await Promise.all(strip.curves.map(async ([label, most, text]) => ({label, most, values: await unpacked(text)}))),
  })));
  const template = spec.vconcat[0], overview = spec.vconcat.at(-1);
  const detail = document.createElement('p');
  detail.className = 'key';
  detail.setAttribute('aria-live', 'polite');
  place.after(detail);
  let rows = strips.filter(strip => strip.shown), zoom = null, view = null, waiting = false;

  const range = () => {
    if (!zoom?.x) return [0, about.count];
    const [low, high] = zoom.x.map(x => (x * about.scale - about.begin) / about.step).sort((a, b) => a - b);
    const from = Math.min(about.count - 1, Math.max(0, Math.floor(low) - 1));
    return [from, Math.max(from + 1, Math.min(about.count, Math.ceil(high) + 1))];
  };

  const tell = () => {
    const [from, to] = range();
    const joined = Math.ceil((to - from) / about.moments) * about.step, every = timeText(about.interval);
    detail.textContent = joined > about.interval
      ? `A point is ${timeText(joined)} long: of the samples of ${every} in it the mean, for queues the largest.`
        + (joined > about.step ? ' Zoom in to see finer ones.' : ' The file holds no finer ones; series.parquet does.')
      : `Every sample is drawn: one each ${every}.`;
    place.dataset.point = String(joined);
  };

  const fill = () => {
    waiting = false;
    rows.forEach((strip, n) => view.data(`samples${n}`, pointsOf(strip, about, ...range())));
    tell();
    view.runAsync();
  };

  const show = async () => {
    const params = structuredClone(spec.params);
    for (const param of params) {
      if (param.name === 'cursor') param.views = rows.map((_, n) => `row${n}`);
      if (param.name === 'zoom' && zoom?.x) param.value = {x: zoom.x};
    }
    const made = rows.map((strip, n) => (
      rowOf(template, strip, pointsOf(strip, about, ...range()), n, n + 1 === rows.length, about.unit)));
    view = await embed(place, {...spec, params, vconcat: [...made, structuredClone(overview)], usermeta: undefined}, view);
    view.addSignalListener('zoom', (_, value) => {
      zoom = value;
      if (!waiting) requestAnimationFrame(fill);
      waiting = true;
    });
    tell();
  };

  const choosable = about.names.length > new Set(rows.filter(strip => strip.of).map(strip => strip.of + strip.who)).size;
  if (choosable) place.before(chooser(about.names, rows, chosen => {
    rows = strips.filter(strip => !strip.of || chosen.has(strip.of + strip.who));
    if (!rows.length) rows = strips.filter(strip => strip.shown);
    show();
  }));
  return show();
}

// Boxes for the links and the sessions whose samples the file holds.
function chooser(names, rows, changed) {
  const box = document.createElement('details');
  box.className = 'choices pick';
  box.innerHTML = '<summary>Choose links and sessions</summary>';
  const chosen = new Set(rows.filter(strip => strip.of).map(strip => strip.of + strip.who));
  for (const [kind, words] of [['link', 'Links'], ['session', 'Sessions']]) {
    const own = names.filter(([of]) => of === kind);
    if (!own.length) continue;
    const field = document.createElement('fieldset');
    field.append(Object.assign(document.createElement('legend'), {textContent: words}));
    for (const [of, who, name] of own) {
      const input = Object.assign(document.createElement('input'), {type: 'checkbox', checked: chosen.has(of + who)});
      input.addEventListener('change', () => {
        if (input.checked) chosen.add(of + who); else chosen.delete(of + who);
        changed(chosen);
      });
      const label = document.createElement('label');
      label.append(input, ` ${name}`);
      field.append(label);
    }
    box.append(field);
  }
  return box;
}
