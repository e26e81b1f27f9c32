(() => {
  'use strict';
  const at = id => document.getElementById(id);
  const text = at('page').dataset, unsent = 'unsent' in text;
  const steps = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
  let timer, due = 0, failures = 0, asking = false, over = false, step, reached = 0, shortest = Infinity;

  // Announces a text to screen readers. Used for important changes only, not for every update.
  const say = words => { at('heard').textContent = words; };
  const fill = (id, words) => { at(id).textContent = words || ''; at(id).hidden = !words; };
  const clock = time => {
    at('updated').dateTime = time;
    at('updated').textContent = new Date(time).toLocaleTimeString(document.documentElement.lang);
  };
  const schedule = seconds => {
    due = Date.now() + seconds * 1000;
    clearTimeout(timer);
    timer = setTimeout(ask, seconds * 1000);
  };
  const place = ({position, number, headline}) => {
    const sentence = position || headline, cut = number ? sentence.indexOf(number) : -1;
    if (cut < 0) return at('position').replaceChildren(sentence);
    const part = (name, words) => Object.assign(document.createElement(name), {textContent: words});
    const big = part('b', number);
    big.className = number.length > 5 ? 'long' : '';
    at('position').replaceChildren(part('span', sentence.slice(0, cut)), big, part('span', sentence.slice(cut + number.length)));
  };
  // The digits with which anyone can check a draw are long, so only visitors who ask see them.
  const explainDraw = detail => {
    const digits = detail?.match(/[0-9a-f]{64}/)?.[0], [summary, code] = at('proof').children;
    fill('detail', digits ? '' : detail);
    at('proof').hidden = !digits;
    if (!digits) return;
    summary.textContent = detail.replace(digits, digits.slice(0, 8) + '…');
    code.textContent = digits;
  };
  // Says why the wait has grown: more visitors are ahead, who are back or have a head start, or
  // admissions are slower.
  const explain = ({waitSeconds, isApproximate}) => {
    if (!waitSeconds) return;
    const has = waitSeconds.p50 > 1.2 * shortest + 30;
    fill('why', has && (isApproximate ? text.returned : text.slower));
    shortest = Math.min(shortest, waitSeconds.p50);
  };
  const show = room => {
    const {message} = room;
    document.title = message.title + ' · ' + text.title;
    place(message);
    for (const id of ['wait', 'again', 'keep']) fill(id, message[id]);
    explainDraw(message.detail);
    explain(room);
    offer();
    clock(room.now);
    const waited = (new Date(room.now) - new Date(room.waitingSince)) / 1000;
    if (room.waitSeconds && room.waitingSince) {
      reached = Math.max(reached, 100 * waited / Math.max(1, waited + room.waitSeconds.p50));
      at('bar').setAttribute('width', reached + '%');
      at('bar').parentNode.classList.remove('open');
    }
    const now = steps.find(it => room.position <= it);
    if (room.position && now !== step) say([message.position, message.wait].filter(Boolean).join('. '));
    step = now;
  };
  const enter = () => {
    over = true;
    // Only the visitor may repeat a POST.
    if (!unsent) return clean(), location.reload();
    document.title = text.turn + ' · ' + text.title;
    at('position').textContent = text.turn;
    at('bar').parentNode.remove();
    for (const id of ['wait', 'keep', 'again', 'detail', 'proof', 'why']) fill(id);
    say(text.turn);
  };
  const ask = async () => {
    if (asking || over) return;
    asking = true;
    clearTimeout(timer);
    try {
      const answer = await fetch(location.href, {
        headers: {accept: 'application/json', 'waiting-room-poll': '1'},
        cache: 'no-store', credentials: 'same-origin', redirect: 'manual', signal: AbortSignal.timeout?.(15000),
      });
      const outcome = answer.headers.get('waiting-room');
      // Without the header, the application or a proxy has answered, and is in trouble itself.
      if (!outcome && (answer.status >= 500 || answer.status === 429)) throw answer.status;
      if (!outcome || outcome === 'admit') return enter();
      const room = (await answer.json()).waitingRoom;
      show(room);
      if (failures) say(text.online);
      fill('lost');
      failures = 0;
      over = room.retryAfterSeconds === null;
      if (!over) schedule(room.retryAfterSeconds);
    } catch {
      failures += 1;
      if (failures === 2) { fill('lost', text.offline); say(text.offline); }
      schedule(Math.min(60, 2 ** failures) * (1 + Math.random() / 4));
    } finally {
      asking = false;
    }
  };

  /* push.js */
  /* transfer.js */
  clock(at('updated').dateTime);
  at('cookies').hidden = navigator.cookieEnabled;
  if (at('reload')) {
    at('reload').hidden = false;
    at('reload').onclick = () => location.reload();
  }
  // The page of a refusal tries again when it may, unless that would repeat a POST. The random
  // delay keeps the browsers that were refused together from coming back together.
  const retry = () => setTimeout(() => location.reload(), text.retry * 1000 * (1 + Math.random() / 4));
  if (at('retry')) retry();
  arrive();
  // Without cookies, polls cannot be told from those of a newcomer, but a reload is a visit.
  if (text.outcome !== 'wait' || !navigator.cookieEnabled) return;
  offer();
  reached = parseFloat(at('bar').getAttribute('width')) || 0;
  if (at('bar').parentNode.classList.contains('open')) reached = 0;
  // The Refresh header is for browsers without scripts. With scripts the page updates in place,
  // since a reload would lose the reading position.
  addEventListener('load', () => setTimeout(() => { stop(); schedule(+text.retry); follow(); }));
  const hurry = () => { if (due && Date.now() >= due) ask(); };
  addEventListener('visibilitychange', () => { if (!document.hidden) hurry(); });
  addEventListener('pageshow', event => { if (event.persisted) ask(); });
  addEventListener('online', () => { if (failures) ask(); });
})();
