// Asks once with Node's fetch, which says that it takes anything, and tells what it got.

const [address] = process.argv.slice(2);
const answer = await fetch(address);
const type = answer.headers.get('content-type');
const {waitingRoom, cfWaitingRoom} = await answer.json();
console.log(JSON.stringify({status: answer.status, type, waitingRoom, cfWaitingRoom}));
