// Asks once, and tells what ratelimit-header-parser reads in the answer: the reset in seconds from
// now.

import {parseRateLimit} from 'ratelimit-header-parser';

const [address] = process.argv.slice(2);
const {limit, remaining, reset} = parseRateLimit(await fetch(address));
console.log(JSON.stringify({limit, remaining, reset: Math.round((reset - Date.now()) / 1000)}));
