// Asks twice with ky, which comes back by itself if it is refused.

import ky from 'ky';

const [address] = process.argv.slice(2);
for (let times = 0; times < 2; times++) console.log((await ky(address, {retry: 1})).status);
