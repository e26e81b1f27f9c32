(() => {
  'use strict';
  const at = id => document.getElementById(id);
  // The dashboard may be mounted anywhere, with or without a slash at the end of its address. The
  // address of the page may contain a password, which a request must not repeat.
  const base = location.origin + location.pathname.replace(/\/+$/, '') + '/';
  const calm = matchMedia('(prefers-reduced-motion: reduce)');
  const keys = ['at', 'active', 'limit', 'waiting', 'admitted', 'refused', 'p50', 'p95', 'told'];
  const past = {seconds: null, minutes: null};
  let period = 'seconds', last, drawn = 0, changes = 0, order, source, missing = true;

  const text = (id, words) => { if (at(id).textContent !== words) at(id).textContent = words; };
  const note = (id, words) => { text(id, words || ''); at(id).hidden = !words; };
  // Announces milestones to screen readers, but not every update.
  const say = words => { at('heard').textContent = words; };
  const count = number => number.toLocaleString('en');
  const wait = millis => {
    if (millis == null) return '–';
    const seconds = millis / 1000;
    if (seconds < 10) return seconds.toFixed(1) + ' s';
    if (seconds < 120) return Math.round(seconds) + ' s';
    return seconds < 7200 ? Math.round(seconds / 60) + ' min' : Math.round(seconds / 3600) + ' h';
  };
  const clock = seconds => new Date(seconds * 1000).toLocaleTimeString('en', {hourCycle: 'h23'});
  const modes = {auto: 'open', drain: 'draining', queue_all: 'queueing all', suspended: 'suspended'};

  // --- Figures ---
  const rows = (id, lines) => {
    const body = at(id), old = body.rows;
    lines.forEach((cells, index) => {
      const row = old[index] || body.insertRow();
      // A row that spans the table stands for an empty list.
      if (row.cells.length !== cells.length) row.replaceChildren(...cells.map(() => document.createElement('td')));
      cells.forEach((cell, column) => {
        const field = row.cells[column], words = typeof cell === 'number' ? count(cell) : cell;
        if (field.textContent !== words) field.textContent = words;
        field.className = column && /^[–∞\d]/.test(words) && id !== 'audit' ? 'number' : '';
      });
    });
    while (old.length > lines.length) old[old.length - 1].remove();
  };
  const tiles = figures => {
    const {room, wait: waits} = figures;
    if (room) {
      text('active', count(room.active));
      const of = (held, all) => {
        const percent = Math.round(held * 100 / Math.max(1, all));
        return percent < 10 ? '' : `, ${percent} % of one network`;
      };
      text('active-of', 'of ' + count(room.total_active_users) + of(room.slots_of_one_network, room.active));
      text('waiting', count(room.waiting));
      text('waiting-of', `${count(room.present)} present, of ${count(room.line_capacity)} places` + of(room.places_of_one_network, room.waiting));
      text('admitted', count(room.new_in_last_minute));
      text('admitted-of', room.new_users_per_minute ? 'of ' + count(room.new_users_per_minute) : 'no limit');
      text('mode', modes[room.mode] || room.mode);
      at('mode').className = room.mode === 'auto' ? 'badge' : 'badge strong';
    }
    text('p50', wait(waits.p50));
    text('p95', waits.p95 == null ? 'no visitor waited' : `95 % within ${wait(waits.p95)}`);
    const error = waits.error_p50;
    text('error', error == null ? '–' : (error < 0 ? '−' : '+') + wait(Math.abs(error)));
    text('error-of', error == null ? 'nothing to compare' : `95 % within ±${wait(waits.error_p95)}`);
    const refusals = figures.reasons.filter(it => /^(refused:|store_unavailable)/.test(it.reason));
    text('refused', count(refusals.reduce((sum, it) => sum + it.in_last_minute, 0)));
    text('refused-of', count(figures.forwarded_in_last_minute) + ' with a pass');
  };
  const tables = figures => {
    rows('reasons', figures.reasons.map(it => [it.reason, it.in_last_minute, it.total]));
    at('gates-section').hidden = !figures.gates.length;
    rows('gates', figures.gates.map(it => [
      it.name + (it.keys > 1 ? ` (${it.keys} keys)` : '') + (it.is_draining ? ' (draining)' : ''),
      it.in_flight, !it.keys ? '–' : it.limit == null ? '∞' : it.limit, it.queued, wait(it.oldest_wait), it.refused,
    ]));
    at('limits-section').hidden = !figures.limits.length;
    const nodes = figures.nodes || [], heard = nodes.filter(it => it.is_heard).length;
    at('nodes-section').hidden = !nodes.length;
    text('nodes-heard', `· ${count(heard)} of ${count(nodes.length)} heard`);
    rows('nodes', nodes.map(it => [
      it.name.slice(0, 8) + (it.is_this_node ? ' (this node)' : ''),
      `${it.last_heard_s} s ago`, it.is_heard ? 'running' : 'stopped, or cut off from the store',
    ]));
    rows('rate-limits', figures.limits.map(it => [it.name, it.over_in_last_minute, it.over]));
  };
  const milestones = (before, now) => {
    if (!before) return;
    if (!before.store_error !== !now.store_error) say(now.store_error ? 'The store does not answer.' : 'The store answers again.');
    if (!before.room || !now.room) return;
    const was = before.room, is = now.room;
    if (was.mode !== is.mode) say('The room is ' + (modes[is.mode] || is.mode) + '.');
    else if (was.total_active_users !== is.total_active_users) say(`The limit on active visitors is now ${is.total_active_users}.`);
    else if (!was.waiting && is.waiting) say('Visitors are waiting in line.');
    else if (was.waiting && !is.waiting) say('The line is empty.');
  };
  const defaults = room => {
    for (const name of ['total_active_users', 'new_users_per_minute']) {
      const field = at(name), value = String(room[name] ?? '');
      // A value that the operator is editing stays.
      if (field.dataset.was === undefined || field.value === field.dataset.was) field.value = value;
      field.dataset.was = value;
    }
  };
  const show = figures => {
    text('name', figures.name);
    document.title = `${figures.room ? figures.room.active + ' active · ' : ''}${figures.name}`;
    at('updated').dateTime = new Date(figures.at * 1000).toISOString();
    text('updated', clock(figures.at));
    note('trouble', figures.store_error && 'The store does not answer: ' + figures.store_error);
    at('switches').hidden = !figures.room;
    tiles(figures);
    tables(figures);
    milestones(last, figures);
    if (figures.room) defaults(figures.room);
    if (figures.changes !== changes) audit(figures.changes);
    last = figures;
    grow(figures.sample);
  };

  // --- Charts ---
  const grow = sample => {
    const {seconds, minutes} = past, now = sample.at[0];
    if (!seconds || now === undefined) return;
    const newest = seconds.at[seconds.at.length - 1];
    // After a gap in the connection, the whole past is fetched again.
    if (newest !== undefined && now > newest + 3) return fetchPast();
    const is_new = newest === undefined || now > newest;
    for (const key of keys) {
      if (!is_new) seconds[key].pop();
      seconds[key].push(sample[key][0]);
      if (seconds[key].length > 900) seconds[key].shift();
    }
    const end = minutes.at.length - 1, minute = now - now % 60;
    if (minutes.at[end] === minute) {
      for (const key of keys.slice(1)) {
        const [old, fresh] = [minutes[key][end], sample[key][0]];
        if (key === 'refused') minutes[key][end] = old + (is_new ? fresh : 0);
        else if (/^(active|waiting)$/.test(key) && old != null && fresh != null) minutes[key][end] = Math.max(old, fresh);
        else minutes[key][end] = fresh ?? old;
      }
    } else {
      for (const key of keys) {
        minutes[key].push(key === 'at' ? minute : sample[key][0]);
        if (minutes[key].length > 1440) minutes[key].shift();
      }
    }
    draw(false);
  };
  const round = most => {
    for (let unit = 1; ; unit *= 10) for (const it of [1, 2, 4, 5]) if (it * unit >= most) return Math.max(4, it * unit);
  };
  const node = (name, attributes, words) => {
    const it = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in attributes) it.setAttribute(key, attributes[key]);
    if (words !== undefined) it.textContent = words;
    return it;
  };
  const chart = (id, unit, series) => {
    const svg = at(id), times = past[period].at, step = period === 'seconds' ? 1 : 60;
    const width = svg.clientWidth || 300, height = svg.clientHeight || 176;
    const left = 44, right = width - 4, top = 30, bottom = height - 22;
    const end = times[times.length - 1], span = period === 'seconds' ? 900 : 86400;
    const most = round(Math.max(1, ...series.flatMap(([, , values]) => values.map(it => it ?? 0))));
    const x = time => right - (right - left) * (end - time) / span;
    const y = value => bottom - (bottom - top) * value / most;
    const parts = [0, most / 2, most].flatMap(value => [
      node('path', {class: 'grid', d: `M${left} ${y(value)}H${right}`}),
      node('text', {x: left - 6, y: y(value) + 4, 'text-anchor': 'end'}, count(value)),
    ]);
    for (const part of [0, .5, 1]) {
      const anchor = ['start', 'middle', 'end'][part * 2];
      const time = clock(end - span * (1 - part)).slice(0, 5);
      parts.push(node('text', {x: left + (right - left) * part, y: height - 5, 'text-anchor': anchor}, time));
    }
    let from = left;
    const said = [];
    for (const [name, style, values] of series) {
      let d = '', before;
      values.forEach((value, index) => {
        if (value == null) { before = undefined; return; }
        // A pause of the record is a gap in the curve.
        const pen = before !== undefined && times[index] - before <= 3 * step ? 'L' : 'M';
        d += `${pen}${x(times[index]).toFixed(1)} ${y(value).toFixed(1)}`;
        before = times[index];
      });
      parts.push(node('path', {class: style, d}));
      parts.push(node('path', {class: style, d: `M${from} 12h18`}));
      parts.push(node('text', {x: from + 23, y: 16}, name));
      from += 38 + name.length * 6.6;
      const newest = values[values.length - 1];
      said.push(`${name}: now ${newest == null ? 'unknown' : count(Math.round(newest)) + unit}, at most ${count(Math.round(Math.max(0, ...values.map(it => it ?? 0))))}${unit}`);
    }
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    svg.setAttribute('aria-label', said.join('; '));
    svg.replaceChildren(...parts);
  };
  const draw = now => {
    const data = past[period];
    // With reduced motion, the charts move every ten seconds.
    if (!data || !data.at.length || (!now && calm.matches && Date.now() - drawn < 10000)) return;
    // A chart of a day changes once a minute.
    if (!now && period === 'minutes' && Date.now() - drawn < 5000) return;
    drawn = Date.now();
    const seconds = values => values.map(it => it == null ? null : it / 1000);
    chart('chart-visitors', '', [['active', 'one', data.active], ['in line', 'two', data.waiting], ['limit', 'three', data.limit]]);
    chart('chart-flow', '', [['admitted per min', 'one', data.admitted], [period === 'seconds' ? 'refused per s' : 'refused per min', 'two', data.refused]]);
    chart('chart-wait', ' s', [['median', 'one', seconds(data.p50)], ['95 %', 'two', seconds(data.p95)], ['estimate', 'three', seconds(data.told)]]);
  };
  const choose = (wanted, button, other) => {
    period = wanted;
    at(button).setAttribute('aria-pressed', 'true');
    at(other).setAttribute('aria-pressed', 'false');
    draw(true);
  };

  // --- Requests ---
  const send = async (path, body) => {
    const options = body && {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify(body)};
    const request = fetch(base + path, {cache: 'no-store', credentials: 'same-origin', signal: AbortSignal.timeout?.(15000), ...options});
    const answer = await request.catch(() => { throw new Error('The server does not answer.'); });
    const document = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(document.detail || `The server answers with status ${answer.status}.`);
    return document;
  };
  // A stream of events that is refused states no reason, so the reason is asked for.
  const explain = async () => {
    const asking = new AbortController();
    try {
      const answer = await fetch(base + 'events', {cache: 'no-store', credentials: 'same-origin', signal: asking.signal});
      const reason = answer.ok ? '' : (await answer.json().catch(() => ({}))).detail || 'status ' + answer.status;
      note('trouble', reason && `There are no live figures: ${reason}. The page asks again every 5 seconds.`);
    } catch {
      note('trouble', 'There are no live figures: the server does not answer. The page asks again every 5 seconds.');
    } finally {
      asking.abort();
    }
  };
  const fetchPast = async () => {
    if (missing === 'asked') return;
    missing = 'asked';
    try {
      Object.assign(past, await send('history.json'));
      missing = false;
      draw(true);
    } catch {
      missing = true;
    }
  };
  const audit = async recorded => {
    changes = recorded;
    try {
      const list = (await send('audit.json')).changes;
      rows('audit', list.map(it => [new Date(it.at * 1000).toISOString().slice(0, 19) + 'Z', it.operator, it.action, it.from, it.to, it.outcome]));
    } catch {
      changes = -1;
    }
  };
  let heard = 0, retry;
  const lost = () => {
    if (at('link').textContent !== 'disconnected') say('The connection is lost.');
    text('link', 'disconnected');
  };
  const connect = () => {
    clearTimeout(retry);
    source?.close();
    heard = Date.now();
    const stream = source = new EventSource(base + 'events');
    stream.onopen = () => { if (missing === true) fetchPast(); };
    stream.addEventListener('figures', event => {
      heard = Date.now();
      if (at('link').textContent === 'disconnected') say('The connection is back.');
      text('link', 'live');
      show(JSON.parse(event.data));
    });
    stream.onerror = () => {
      // The server ends each stream after a minute, and the browser connects again by itself. It
      // gives up if it is refused, so the page then tries again later.
      if (stream !== source || stream.readyState !== EventSource.CLOSED) return;
      lost();
      explain();
      retry = setTimeout(connect, 5000);
    };
  };
  // A connection that is cut silently causes no error. There is an event each second.
  setInterval(() => {
    if (Date.now() - heard < 8000) return;
    lost();
    if (source.readyState !== EventSource.CLOSED) connect();
  }, 1000);

  // --- Switches ---
  const preview = async wanted => {
    note('refusal');
    try {
      const effect = await send('preview', wanted);
      order = {...wanted, from: effect.from};
      text('dialog-heading', 'Change: ' + effect.action.replace('_', ' '));
      text('dialog-words', effect.words);
      text('dialog-from', effect.from);
      text('dialog-to', effect.to);
      text('dialog-name', effect.room);
      note('dialog-error');
      at('confirm').value = '';
      at('dialog').showModal();
      at('confirm').focus();
    } catch (error) {
      note('refusal', error.message);
    }
  };
  const number = value => {
    const trimmed = value.trim();
    // What is not a number goes to the server as it is, whose answer names both values.
    return trimmed === '' ? null : /^-?\d+$/.test(trimmed) ? Number(trimmed) : trimmed;
  };
  at('limits').onsubmit = event => {
    event.preventDefault();
    preview({
      action: 'limits',
      total_active_users: number(at('total_active_users').value),
      new_users_per_minute: number(at('new_users_per_minute').value),
    });
  };
  for (const button of document.querySelectorAll('[data-action]')) {
    button.onclick = () => preview({action: button.dataset.action});
  }
  at('confirmation').onsubmit = async event => {
    event.preventDefault();
    at('apply').disabled = true;
    try {
      await send('change', {...order, confirm: at('confirm').value});
      at('dialog').close();
    } catch (error) {
      note('dialog-error', error.message);
    } finally {
      at('apply').disabled = false;
    }
  };
  at('cancel').onclick = () => at('dialog').close();
  at('minutes-15').onclick = () => choose('seconds', 'minutes-15', 'hours-24');
  at('hours-24').onclick = () => choose('minutes', 'hours-24', 'minutes-15');
  at('svg').href = base + 'export.svg';
  at('csv').href = base + 'export.csv';
  addEventListener('resize', () => draw(true));
  addEventListener('pagehide', () => source.close());
  addEventListener('pageshow', event => { if (event.persisted) connect(); });
  connect();
})();
