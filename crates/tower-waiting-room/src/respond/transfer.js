  // A link with which the visitor continues on another device. It is this page with a sealed token
  // in the fragment, which browsers send to no server.
  const transfer = headers => fetch(text.transfer, {method: 'POST', cache: 'no-store', credentials: 'same-origin', headers});
  // Offers a link as soon as there is a place, which is kept for a while.
  const offer = () => {
    if (at('offer')) at('offer').classList.toggle('on', !at('keep').hidden);
  };
  if (at('offer')) at('offer').onclick = async () => {
    const answer = await transfer({accept: 'application/json'}).catch(() => ({}));
    if (!answer.ok) return;
    const link = new URL(location.href);
    link.hash = 'waiting-room=' + (await answer.json()).transfer;
    at('link').value = link;
    at('share').hidden = false;
    at('link').focus();
    at('link').select();
  };
  // On the other device, the place is taken over only when the visitor says so.
  const arrive = () => {
    const token = text.transfer && location.hash.startsWith('#waiting-room=') && location.hash.slice(14);
    if (!token) return;
    at('come').hidden = false;
    at('here').onclick = async () => {
      const answer = await transfer({'waiting-room-transfer': token}).catch(() => null);
      if (!answer) return fill('void', text.offline);
      history.replaceState(null, '', location.pathname + location.search);
      if (answer.ok) return location.reload();
      at('come').hidden = true;
      fill('void', text.void);
    };
  };
