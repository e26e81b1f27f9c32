// Calls the health service twice with @grpc/grpc-js and a service configuration, and prints the
// status of each call.

import grpc from '@grpc/grpc-js';

const [address, config] = process.argv.slice(2);
const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
  'grpc.service_config': config,
});
const bytes = message => message;
for (let times = 0; times < 2; times++) {
  const status = await new Promise(resolve => {
    const done = error => resolve(error ? error.code : grpc.status.OK);
    client.makeUnaryRequest('/grpc.health.v1.Health/Check', bytes, bytes, Buffer.alloc(0), done);
  });
  console.log(grpc.status[status]);
}
client.close();
