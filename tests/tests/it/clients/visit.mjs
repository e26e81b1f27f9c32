// A visit with Node's fetch, which has no cookie jar: the token travels in a header, both ways.

const [address] = process.argv.slice(2);
const statuses = [], positions = [];
let token = '', answer;
for (;;) {
  answer = await fetch(address, {headers: {'waiting-room-token': token}});
  statuses.push(answer.status);
  token = answer.headers.get('waiting-room-token');
  if (answer.ok) break;
  const {waitingRoom} = await answer.json();
  if (waitingRoom.token !== token) throw new Error('the token in the body is another one');
  positions.push(waitingRoom.position);
  await new Promise(done => setTimeout(done, 1000 * answer.headers.get('retry-after')));
}
const again = await fetch(address, {headers: {'waiting-room-token': token}});
console.log(JSON.stringify({
  statuses,
  positions,
  page: await answer.text(),
  again: again.status,
  cookies: answer.headers.getSetCookie(),
}));
