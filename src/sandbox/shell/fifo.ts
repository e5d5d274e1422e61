import { close, constants, fstat, open } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

const openDescriptor = promisify(open);
const fstatDescriptor = promisify(fstat);
const closeDescriptor = promisify(close);

/**
 * A FIFO that something hostile may have replaced meanwhile: no link is followed, nothing but a FIFO is used, and
 * neither end blocks. The writing end is opened for both, which never waits for a reader.
 */
export async function openFifo(path: string, direction: 'read' | 'write'): Promise<Socket> {
  const access = direction === 'read' ? constants.O_RDONLY : constants.O_RDWR;
  const fd = await openDescriptor(path, access | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const stats = await fstatDescriptor(fd);
  if (!stats.isFIFO()) {
    await closeDescriptor(fd);
    throw new Error('not a FIFO');
  }
  return new Socket({ fd, readable: direction === 'read', writable: direction === 'write' });
}
