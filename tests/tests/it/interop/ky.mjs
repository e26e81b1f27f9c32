// Sends two requests with ky, which retries refused requests.

import ky from 'ky';

const [address] = process.argv.slice(2);
for (let times = 0; times < 2; times++) console.log((await ky(address, {retry: 1})).status);
