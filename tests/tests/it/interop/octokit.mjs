// Sends two requests with octokit, whose throttling plugin retries refused requests.

import {Octokit} from '@octokit/core';
import {throttling} from '@octokit/plugin-throttling';

const [baseUrl] = process.argv.slice(2);
const octokit = new (Octokit.plugin(throttling))({
  baseUrl,
  throttle: {
    onRateLimit: (seconds, options, octokit, tries) => tries === 0,
    onSecondaryRateLimit: () => false,
  },
});
for (let times = 0; times < 2; times++) console.log((await octokit.request('GET /')).status);
