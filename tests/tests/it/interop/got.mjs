// Asks twice with got, which comes back by itself if it is refused.

import got from 'got';

const [address] = process.argv.slice(2);
for (let times = 0; times < 2; times++) {
  console.log((await got(address, {retry: {limit: 1}})).statusCode);
}
