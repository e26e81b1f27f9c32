// Sends two requests with undici, whose RetryAgent retries refused requests.

import {Agent, RetryAgent, request} from 'undici';

const [address] = process.argv.slice(2);
const dispatcher = new RetryAgent(new Agent(), {maxRetries: 1});
for (let times = 0; times < 2; times++) {
  const answer = await request(address, {dispatcher});
  await answer.body.dump();
  console.log(answer.statusCode);
}
await dispatcher.close();
