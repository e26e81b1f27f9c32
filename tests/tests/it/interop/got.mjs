// Sends two requests with got, which retries refused requests.

import got from 'got';

const [address] = process.argv.slice(2);
for (let times = 0; times < 2; times++) {
  console.log((await got(address, {retry: {limit: 1}})).statusCode);
}
