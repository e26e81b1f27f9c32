// Sends one request, and prints what ratelimit-header-parser reads from the response: the reset in
// seconds from now.

import {parseRateLimit} from 'ratelimit-header-parser';

const [address] = process.argv.slice(2);
const {limit, remaining, reset} = parseRateLimit(await fetch(address));
console.log(JSON.stringify({limit, remaining, reset: Math.round((reset - Date.now()) / 1000)}));
