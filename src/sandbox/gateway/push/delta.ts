/**
 * Builds an object from another and a delta (git's Documentation/gitformat-pack, "Deltified representation").
 * @returns null for a delta that does not fit its base, or whose result would be longer than `most`
 */
export function applyDelta(base: Buffer, delta: Buffer, most: number): Buffer | null {
  const from = sizeAt(delta, 0);
  const to = from && sizeAt(delta, from.next);
  if (!from || !to || from.size !== base.length || to.size > most) return null;
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = to.next; at < delta.length;) {
    const instruction = delta[at] ?? 0;
    at += 1;
    const copies = (instruction & 0x80) !== 0;
    const [offset, size] = copies ? copied(instruction, delta, at) : [at, instruction];
    const source = copies ? base : delta;
    at += copies ? bitsOf(instruction & 0x7f) : instruction;
    length += size;
    if (size === 0 || offset + size > source.length || length > to.size) return null;
    parts.push(source.subarray(offset, offset + size));
  }
  return length === to.size ? Buffer.concat(parts) : null;
}

/** Seven bits a byte, the lowest first. */
function sizeAt(bytes: Buffer, start: number): { size: number; next: number } | null {
  let size = 0;
  for (let at = start; at < bytes.length && at < start + 7; at += 1) {
    const byte = bytes[at] ?? 0;
    size += (byte & 0x7f) * 2 ** (7 * (at - start));
    if (byte < 0x80) return { size, next: at + 1 };
  }
  return null;
}

/** Offset and size; of each only the bytes that are not 0 stand there, which seven bits say. */
function copied(instruction: number, delta: Buffer, start: number): [offset: number, size: number] {
  let at = start;
  let [offset, size] = [0, 0];
  for (let bit = 0; bit < 7; bit += 1) {
    if ((instruction & (1 << bit)) === 0) continue;
    const byte = delta[at] ?? 0;
    at += 1;
    if (bit < 4) offset += byte * 2 ** (8 * bit);
    else size += byte * 2 ** (8 * (bit - 4));
  }
  return [offset, size === 0 ? 0x1_0000 : size];
}

function bitsOf(value: number): number {
  let bits = 0;
  for (let rest = value; rest > 0; rest >>= 1) bits += rest & 1;
  return bits;
}
