// Sends two requests with axios. With axios-retry, it retries refused requests.

import axios from 'axios';
import axiosRetry from 'axios-retry';

const [address] = process.argv.slice(2);
axiosRetry(axios, {retries: 1});
for (let times = 0; times < 2; times++) console.log((await axios.get(address)).status);
