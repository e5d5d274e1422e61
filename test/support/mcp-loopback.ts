/** Loaded before a server that listens everywhere: it listens on a free port of loopback instead, and says which. */
import { Server } from 'node:net';

const listen = Server.prototype.listen;
Server.prototype.listen = function (this: Server, ...given: unknown[]): Server {
  const done = given.find((one) => typeof one === 'function');
  this.once('listening', () => {
    const address = this.address();
    if (typeof address === 'object' && address) process.stderr.write(`port ${address.port}\n`);
  });
  return listen.call(this, { port: Number(process.env['PORT'] ?? 0), host: '127.0.0.1' }, done as () => void);
} as typeof listen;
