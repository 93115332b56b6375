// What there is to say of one kernel.

const kernelLink = (number) =>
    el('button', {type: 'button', class: 'link', onclick: () => go({kernel: number})},
       `${number + 1} · ${titleOf(kernels[number])}`);

function nodeLink(name) {
  const node = nodeOf(name);
  if (node === undefined) return el('span', {}, name);
  return el(
      'button', {
        type: 'button',
        class: 'link',
        title: name,
        onclick: () => center(drawing.view === 'kernels' ? `k${homeOf[node]}` : `n${node}`)
      },
      el('b', {}, nodes[node].op), ' ', name);
}

function kernelFigures(kernel) {
  const work = workOf(kernel, kernel.time_ms);
  return definitionList([
    ['predicted', figure(kernel.predicted_ms, showMs), ` (${showShare(kernel.predicted_ms / predictedTotal)} of all)`],
    [
      'measured', figure(kernel.measured_ms, showMs),
      kernel.measured_ms === null ? '' :
                                    ` (${showShare(kernel.measured_ms / measuredTotal)} of all, ${
                                        trimmed(kernel.measured_ms / kernel.predicted_ms)} times what was predicted)`
    ],
    kernel.launches !== 1 && ['launches in a run', figure(kernel.launches, String), ', the times are of all of them'],
    [
      'bytes moved', figure(kernel.bytes, showBytes),
      kernel.bytes && work.bytes ? ` at ${showRate(work.bytes, 'B/s')}` : ''
    ],
    ['operations', figure(kernel.operations, showCount), work.flops ? ` at ${showRate(work.flops, 'FLOP/s')}` : ''],
    work.roof &&
        [
          'on the roofline',
          `${trimmed(work.intensity)} operations a byte; ${showShare(work.flops / work.roof)} of the roof, which is ${
              machine.bytes_per_s * work.intensity < peak ? 'memory' : 'arithmetic'}`
        ],
    [
      'code',
      kernel.kind === 'call' ? `a call of ${kernel.name}${kernel.runs_on ? ` on the ${kernel.runs_on}` : ''}` :
                               kernel.name
    ],
    kernel.kind !== 'call' && ['tiles', figure(kernel.tiles, showWhole)],
  ]);
}

const bufferRow = (buffer) =>
    el('tr', {}, el('td', {class: 'mono'}, buffer.name),
       el('td', {}, `${buffer.type} [${buffer.shape.join(', ')}]${buffer.constant ? ', constant' : ''}`),
       el('td', {class: 'right'}, showBytes(buffer.bytes)));

// The price of an alternative in words, of which each says exactly what is known.
function priceOf(alternative) {
  const {more_ms: more, more_at_least_ms: least, proven} = alternative;
  if (more === null) return least > 0 ? ['at least ', figure(least, showMs), ' more'] : ['no price known'];
  if (more < 0) return [figure(-more, showMs), ' less'];
  if (proven) return more > 0 ? [figure(more, showMs), ' more'] : ['costs the same'];
  return ['between ', figure(Math.max(0, least), showMs), ' and ', figure(more, showMs), ' more'];
}
const priceNote = (alternative) => alternative.more_ms === null ?
    'a bound: by the reduced cost of the relaxation, no plan with it takes less' :
    alternative.more_ms < 0 ?
    'solved again with it: a better plan than the one that was chosen, which is not proven to be the best' :
    alternative.proven ? 'solved again with it: the best plan that has it, proven' :
                         'solved again with it: the best plan found, and what is proven of others';

// The rules of the form that has it with the fewest, for forms that others were made from have their kernels, too.
function madeBy(choice, alternative) {
  const {forms} = alternative;
  if (choice.among !== 'forms') return 'fusion';
  if (!forms.length) return 'joining parts of several forms';
  if (forms.includes('as it is')) return 'fusion; the expressions are as they were';
  const fewest = [...forms].sort(
      (a, b) => a.split(', then ').length - b.split(', then ').length || forms.indexOf(a) - forms.indexOf(b))[0];
  return fewest + (forms.length > 1 ? ` (and ${forms.length - 1} more)` : '');
}

function alternativeEntry({choice, alternative}, kernel) {
  const others = alternative.kernels.filter((each) => each !== kernel.number);
  const price = alternative.more_ms ?? alternative.more_at_least_ms;
  return el(
      'details', {class: 'alternative'},
      el('summary', {}, el('span', {class: 'price', title: priceNote(alternative)}, priceOf(alternative)),
         price > 0 ? el('span', {class: 'note'}, ` ${showShare(price / choice.objective_ms)} of the run`) : '',
         el('br'),
         el('span', {class: 'mono'},
            shortened(alternative.stores.join(', ') || alternative.definitions.join(', '), 70)),
         choice.among === 'forms' ? [el('br'), el('span', {class: 'note'}, madeBy(choice, alternative))] : ''),
      definitionList([
        ['made by', madeBy(choice, alternative)],
        ['price', priceNote(alternative), '.'],
        ['alone it takes', figure(alternative.predicted_ms, showMs)],
        choice.among === 'forms' &&
            ['is in the forms', alternative.forms.length ? alternative.forms.join('; ') : 'that join parts of several'],
        others.length > 0 && ['also instead of', others.map((each) => [kernelLink(each), ' '])],
        alternative.with.length > 0 && ['comes with', `other kernels for ${alternative.with.join(', ')}`],
      ]),
      el('pre', {}, alternative.expressions));
}

function alternativesPart(kernel) {
  const all = alternativesOf[kernel.number];
  if (!report.decisions)
    return el(
        'p', {class: 'note'},
        'An artifact does not say what else was possible; explain the model that it was made of.');
  const parts =
      [['kernels', 'Other kernels of the same expressions'], ['forms', 'Other expressions, made by rules']]
          .map(([among, title]) => {
            const its = all.filter((each) => each.choice.among === among);
            return its.length ? [el('h4', {}, title), its.map((each) => alternativeEntry(each, kernel))] : null;
          })
          .filter(Boolean);
  return parts.length ? parts :
                        el('p', {class: 'note'},
                           'There was nothing else that could have been chosen here, or nothing that was asked for.');
}

function showKernel(number) {
  const panel = document.getElementById('kernel');
  if (number === null) {
    replaceIn(
        panel, el('h2', {}, 'Select a kernel'),
        el('p', {}, 'Click a kernel in the graph, in the time line or in the list below, or press an arrow key.'),
        el('p', {class: 'note'},
           'Drag to move the graph, turn the wheel to zoom. / searches, + and − zoom, 0 shows all, Escape unselects.'));
    return;
  }
  const kernel = kernels[number];
  replaceIn(
      panel,
      el('div', {class: 'panel-head'}, el('h2', {}, `${number + 1} · ${titleOf(kernel)}`),
         el('button', {type: 'button', 'aria-label': 'Previous kernel', onclick: () => step(-1)}, '‹'),
         el('button', {type: 'button', 'aria-label': 'Next kernel', onclick: () => step(1)}, '›')),
      el('p', {class: 'note'}, `Kernel ${number + 1} of ${kernels.length} in the order of a run.`),
      kernelFigures(kernel), el('div', {class: 'mini'}, drawRoofline(number, 380, 190, true)),
      el('h3', {}, 'Nodes of the model'),
      kernel.nodes.length ? el('ul', {class: 'plain'}, kernel.nodes.map((name) => el('li', {}, nodeLink(name)))) :
                            el('p', {class: 'note'}, 'It serves no node of its own.'),
      el('h3', {}, 'Expressions'),
      kernel.expressions ? el('pre', {}, kernel.expressions) : el('p', {class: 'note'}, 'A call has no expressions.'),
      el('h3', {}, 'What else was possible'), alternativesPart(kernel), el('h3', {}, 'Reads and stores'),
      table(['reads', '', {text: 'size', right: true}], kernel.reads.map(bufferRow)),
      table(['stores', '', {text: 'size', right: true}], kernel.stores.map(bufferRow)),
      el('h3', {}, 'Before and after it'), definitionList([
        [
          'reads from',
          writersOf[number].length ? writersOf[number].map((each) => [kernelLink(each), ' ']) :
                                     'inputs and constants alone'
        ],
        [
          'is read by',
          readersOf[number].length ? readersOf[number].map((each) => [kernelLink(each), ' ']) :
                                     'nothing but the outputs'
        ],
      ]));
  panel.scrollTop = 0;
}
