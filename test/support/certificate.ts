import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate that signs itself, for the host names given: RFC 5280, in the fewest fields that TLS takes. */
export function selfSigned(hosts: readonly string[]): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const ecdsaWithSha256 = der(0x30, oid(42, 840, 10_045, 4, 3, 2));
  const name = der(0x30, der(0x31, der(0x30, oid(85, 4, 3), der(0x0c, 'parley test'))));
  const validity = der(0x30, der(0x17, '200101000000Z'), der(0x17, '491231235959Z'));
  const names = der(0x30, ...hosts.map((host) => der(0x82, host)));
  const extensions = der(
    0x30,
    der(0x30, oid(85, 29, 19), der(0x01, Buffer.of(255)), der(0x04, der(0x30, der(0x01, Buffer.of(255))))),
    der(0x30, oid(85, 29, 17), der(0x04, names)),
  );
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    ecdsaWithSha256,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', body, privateKey));
  const base64 = der(0x30, body, ecdsaWithSha256, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, ...parts: (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.of(tag, ...head), content]);
}

/** @param first the first two numbers as one: 40 times the first, plus the second */
function oid(first: number, ...rest: number[]): Buffer {
  const bytes = rest.flatMap((part) => {
    const groups = [part & 127];
    for (let left = part >> 7; left > 0; left >>= 7) groups.unshift((left & 127) | 128);
    return groups;
  });
  return der(0x06, Buffer.of(first, ...bytes));
}
