// Sends one request, and prints what structured-headers reads from both fields of draft 11.

import {parseList} from 'structured-headers';

const [address] = process.argv.slice(2);
const {headers} = await fetch(address);
const read = field => parseList(headers.get(field))
  .map(([name, parameters]) => [name, Object.fromEntries(parameters)]);
console.log(JSON.stringify([read('ratelimit-policy'), read('ratelimit')]));
