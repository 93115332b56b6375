// Time line, roofline, and what was predicted against what was measured.

function drawTimeline() {
  const whole = Math.max(predictedTotal, measuredTotal);
  const bars = (name, total, timeOf) => {
    let start = 0;
    const rects = kernels.map((kernel) => {
      const x = (100 * start) / whole, width = (100 * timeOf(kernel)) / whole;
      start += timeOf(kernel);
      return svg(
          'rect', {
            x: `${x}%`,
            width: `${width}%`,
            y: 0,
            height: '100%',
            class: 'bar' + isCall(kernel),
            'data-kernel': kernel.number,
            style: heatOf(kernel)
          },
          svg('title', {}, `${kernel.number + 1}: ${titleOf(kernel)}\n${name} ${showMs(timeOf(kernel))}`));
    });
    return el(
        'div', {class: 'row'}, el('span', {class: 'label'}, name, el('br'), figure(total, showMs)),
        svg('svg', {width: '100%', height: 26, 'aria-hidden': 'true'}, rects));
  };
  replaceIn(
      document.getElementById('timeline'), bars('predicted', predictedTotal, (kernel) => kernel.predicted_ms),
      isMeasured ? bars('measured', measuredTotal, (kernel) => kernel.measured_ms || 0) :
                   el('p', {class: 'note'}, 'Nothing was measured: there is no device here for what was compiled.'));
}

// Axes in powers of ten.
function logFrame(width, height, xs, ys, xTitle, yTitle) {
  const left = 58, right = 20, top = 10, bottom = 36;
  const range = (values) => {
    const finite = values.filter((value) => value > 0 && isFinite(value));
    if (!finite.length) return [0, 1];
    return [Math.floor(Math.log10(Math.min(...finite)) - 0.05), Math.ceil(Math.log10(Math.max(...finite)) + 0.05)];
  };
  const [x0, x1] = range(xs), [y0, y1] = range(ys);
  const x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - right);
  const y = (value) => height - bottom - ((Math.log10(value) - y0) / (y1 - y0)) * (height - top - bottom);
  const parts = [];
  for (let power = x0; power <= x1; ++power)
    parts.push(
        svg('line', {x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom, class: 'grid'}),
        svg('text', {x: x(10 ** power), y: height - bottom + 14, class: 'tick middle'}, xTitle.show(10 ** power)));
  const every = Math.ceil((y1 - y0) / 8);
  for (let power = y0; power <= y1; power += every)
    parts.push(
        svg('line', {x1: left, x2: width - right, y1: y(10 ** power), y2: y(10 ** power), class: 'grid'}),
        svg('text', {x: left - 6, y: y(10 ** power) + 4, class: 'tick end'}, yTitle.show(10 ** power)));
  parts.push(
      svg('text', {x: (left + width - right) / 2, y: height - 6, class: 'tick middle'}, xTitle.text),
      svg('text', {
        x: 12,
        y: (top + height - bottom) / 2,
        class: 'tick middle',
        transform: `rotate(-90 12 ${(top + height - bottom) / 2})`
      },
          yTitle.text));
  return {x, y, parts, xMin: 10 ** x0, xMax: 10 ** x1};
}

const dot = (kernel, x, y, selected, label) =>
    svg('circle', {
      cx: x,
      cy: y,
      r: 3 + 7 * Math.sqrt(kernel.time_ms / mostTime),
      'data-kernel': kernel.number,
      style: heatOf(kernel),
      class: 'dot' + isCall(kernel) + (kernel.number === selected ? ' selected' : '')
    },
        svg('title', {}, `${kernel.number + 1}: ${titleOf(kernel)}\n${label}`));
const selectedLast = (list, selected) => [...list].sort(
    (a, b) => (a.kernel.number === selected) - (b.kernel.number === selected) || b.kernel.time_ms - a.kernel.time_ms);

// Measured where there is that, else predicted.
function drawRoofline(selected, width, height, onlySelected = false) {
  const all = kernels.map((kernel) => ({kernel, ...workOf(kernel, kernel.time_ms)})).filter((each) => each.flops > 0);
  const points = onlySelected ? all.filter((each) => each.kernel.number === selected) : all;
  if (!points.length) return el('p', {class: 'note'}, 'No arithmetic is counted here.');
  const ridge = peak / machine.bytes_per_s;
  const xs = [...all.map((each) => each.intensity), ridge / 10, ridge * 10];
  const lowest = Math.min(...xs) * machine.bytes_per_s;
  const {x, y, parts, xMin, xMax} = logFrame(
      width, height, xs, [...all.map((each) => each.flops), peak, Math.min(lowest, peak)],
      {text: 'operations for each byte moved', show: (value) => trimmed(value)},
      {text: 'operations a second', show: showCount});
  const roof = svg(
      'path',
      {class: 'roof', d: `M${x(xMin)} ${y(machine.bytes_per_s * xMin)}L${x(ridge)} ${y(peak)}L${x(xMax)} ${y(peak)}`});
  const clip =
      svg('svg', {x: 58, y: 10, width: width - 78, height: height - 46, viewBox: `58 10 ${width - 78} ${height - 46}`},
          roof);
  return svg(
      'svg', {
        viewBox: `0 0 ${width} ${height}`,
        class: 'plot',
        role: 'img',
        'aria-label': 'Roofline: operations a second by operations for each byte moved'
      },
      parts, clip,
      selectedLast(points, selected)
          .map(
              (each) =>
                  dot(each.kernel, x(each.intensity), y(each.flops), selected,
                      `${showCount(each.flops)}FLOP/s, ${showShare(each.flops / each.roof)} of the roof`)));
}

function drawScatter(selected) {
  if (!isMeasured)
    return el('p', {class: 'note'}, 'Nothing was measured: there is no device here for what was compiled.');
  const points = kernels.filter((kernel) => kernel.predicted_ms > 0 && kernel.measured_ms > 0);
  if (!points.length) return el('p', {class: 'note'}, 'No kernel took a time that could be measured.');
  const values = points.flatMap((kernel) => [kernel.predicted_ms, kernel.measured_ms]);
  const {x, y, parts, xMin, xMax} =
      logFrame(520, 340, values, values, {text: 'predicted', show: showMs}, {text: 'measured', show: showMs});
  const line = (factor, name) =>
      svg('path', {class: name, d: `M${x(xMin)} ${y(xMin * factor)}L${x(xMax)} ${y(xMax * factor)}`});
  const clip =
      svg('svg', {x: 58, y: 10, width: 442, height: 294, viewBox: '58 10 442 294'}, line(1, 'roof'),
          line(2, 'roof thin'), line(0.5, 'roof thin'));
  return svg(
      'svg', {
        viewBox: '0 0 520 340',
        class: 'plot',
        role: 'img',
        'aria-label': 'Measured time of each kernel by its predicted time'
      },
      parts, clip,
      selectedLast(points.map((kernel) => ({kernel})), selected)
          .map(
              ({kernel}) =>
                  dot(kernel, x(kernel.predicted_ms), y(kernel.measured_ms), selected,
                      `predicted ${showMs(kernel.predicted_ms)}, measured ${showMs(kernel.measured_ms)}`)));
}

function markPlots(selected) {
  const roofs =
      `Dots are kernels, ${isMeasured ? 'as measured' : 'as predicted'}; their size is their share of the time. ` +
      `The line is what ${machine.name || 'the machine'} sustains: ${
          showCount(machine.bytes_per_s)}B/s from memory and ${showCount(peak)}FLOP/s. ` +
      'Kernels whose data are in caches may be above its slope.';
  document.getElementById('roofline')
      .replaceChildren(drawRoofline(selected, 520, 340), el('p', {class: 'note'}, roofs));
  document.getElementById('scatter').replaceChildren(
      drawScatter(selected),
      isMeasured ? el('p', {class: 'note'},
                      'Of all launches of a kernel in a run. Between the thin lines the two differ by less than a ' +
                          'factor of two.') :
                   '');
  for (const bar of document.querySelectorAll('.bar'))
    bar.classList.toggle('selected', bar.dataset.kernel === String(selected));
}
