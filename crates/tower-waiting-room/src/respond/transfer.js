  // A link with which the visitor continues on another device. It is this page with a sealed token
  // in the fragment, which browsers send to no server.
  const transfer = headers => fetch(text.transfer, {method: 'POST', cache: 'no-store', credentials: 'same-origin', headers});
  const mark = '#waiting-room=', isLink = () => location.hash.startsWith(mark);
  // The query without the mark, which tells the server that the address is a link.
  const sign = 'waiting-room-link', query = () => location.search.replace(new RegExp('[?&]' + sign + '$'), '');
  // Removes the token and the mark from the address.
  const clean = () => { if (isLink()) history.replaceState(null, '', location.pathname + query()); };
  // Offers a link as soon as there is a place, which is kept for a while.
  const offer = () => {
    if (at('offer')) at('offer').classList.toggle('on', !at('keep').hidden);
  };
  if (at('offer')) at('offer').onclick = async () => {
    const answer = await transfer({accept: 'application/json'}).catch(() => ({}));
    if (!answer.ok) return fill('void', text.offline);
    const link = new URL(location.href);
    link.search = query() + (query() ? '&' : '?') + sign;
    link.hash = mark + (await answer.json()).transfer;
    fill('void');
    at('link').value = link;
    at('share').hidden = false;
    at('link').focus();
    at('link').select();
  };
  // On the other device, the place is taken over only when the visitor says so.
  const arrive = () => {
    if (!text.transfer || !isLink()) return;
    fill('void');
    at('come').hidden = false;
    at('here').onclick = async () => {
      // The answer to a poll that is under way would bring the own ticket back.
      while (asking) await new Promise(done => setTimeout(done, 50));
      if (over) return;
      asking = true;
      const answer = await transfer({'waiting-room-transfer': location.hash.slice(mark.length)}).catch(() => ({}));
      if (answer.ok) return clean(), location.reload();
      asking = false;
      // The link may still be valid if there is any other trouble.
      at('come').hidden = answer.status === 403;
      if (answer.status === 403) clean();
      fill('void', answer.status === 403 ? text.void : text.offline);
    };
  };
  addEventListener('hashchange', arrive);
