  // Push: while a stream of events is open, polls are only a precaution. Without push, or if the
  // stream is refused, the page polls.
  const follow = () => {
    if (!text.push || !window.EventSource || over) return;
    const first = due, stream = new EventSource(text.push + '?page');
    schedule(+text.retry + 10);
    stream.addEventListener('position', event => {
      const room = JSON.parse(event.data).waitingRoom;
      show(room);
      if (failures) say(text.online);
      fill('lost');
      failures = 0;
      schedule(2 * room.retryAfterSeconds + 20);
    });
    stream.addEventListener('turn', () => {
      stream.close();
      // The poll takes the slot. It reloads the page only if the visitor has been admitted.
      asking ? schedule(1) : ask();
      setTimeout(follow, 5000);
    });
    stream.onerror = () => {
      if (over) stream.close();
      // A stream that is only interrupted is opened again by the browser.
      if (over || stream.readyState !== 2) return;
      schedule(Math.max(1 + Math.random(), (first - Date.now()) / 1000));
      setTimeout(follow, 6e4 * (1 + Math.random()));
    };
  };
