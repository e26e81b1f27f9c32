// Sends one request with Node's fetch, which accepts any type, and prints the answer.

const [address] = process.argv.slice(2);
const answer = await fetch(address);
const type = answer.headers.get('content-type');
const {waitingRoom, cfWaitingRoom} = await answer.json();
console.log(JSON.stringify({status: answer.status, type, waitingRoom, cfWaitingRoom}));
