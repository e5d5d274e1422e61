/** Loaded before a server that listens everywhere: it listens on a port of loopback instead, and says which. */
import { Server } from 'node:net';

const listen = Reflect.get(Server.prototype, 'listen') as (...given: unknown[]) => Server;

Reflect.set(Server.prototype, 'listen', function (this: Server, ...given: unknown[]): Server {
  this.once('listening', () => {
    const address = this.address();
    if (typeof address === 'object' && address) process.stderr.write(`port ${address.port}\n`);
  });
  const where = { port: Number(process.env['PORT'] ?? 0), host: '127.0.0.1' };
  return Reflect.apply(listen, this, [where, given.find((one) => typeof one === 'function')]);
});
