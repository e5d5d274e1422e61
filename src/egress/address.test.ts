import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { addressBytes, addressKind, ownAddresses } from './address.ts';
import { fc } from '../../test/support/samples.ts';

const NONE: ReadonlySet<string> = new Set();
const reachOf = (address: string) => addressKind(address, NONE).reach;
const quad = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
const hex = (value: number) => value.toString(16).padStart(2, '0');

describe('an address', () => {
  const table: Record<string, string[]> = {
    never: [
      '169.254.169.254',
      '169.254.0.1',
      '168.63.129.16',
      '100.100.100.200',
      '192.0.0.192',
      '192.0.0.8',
      '192.88.99.1',
      '224.0.0.1',
      '239.255.255.250',
      '240.0.0.1',
      '255.255.255.255',
      'fe80::1',
      'febf::1',
      'ff02::1',
      '100::1',
      '2001::1',
      '64:ff9b:1::1',
      'fd00:ec2::254',
      '::ffff:169.254.169.254',
      '::169.254.169.254',
      '64:ff9b::169.254.169.254',
      '2002:a9fe:a9fe::1',
      '::ffff:0:169.254.169.254',
      '4000::1',
      'e000::1',
      '5f00::1',
      'fe80::1%eth0',
      '::1%lo',
      'localhost',
      '127.1',
      '0177.0.0.1',
      '2130706433',
      '',
    ],
    machine: [
      '127.0.0.1',
      '127.255.255.254',
      '0.0.0.0',
      '0.1.2.3',
      '::1',
      '::',
      '::ffff:7f00:1',
      '64:ff9b::7f00:1',
    ],
    network: [
      '10.0.0.1',
      '100.64.0.1',
      '100.127.255.255',
      '172.16.0.1',
      '172.31.255.255',
      '192.168.1.1',
      '198.18.0.1',
      '198.19.255.255',
      'fc00::1',
      'fdff::1',
      'fec0::1',
      '64:ff9b::8.8.8.8',
      '2002:808:808::1',
      '::8.8.8.8',
      '::ffff:10.1.2.3',
    ],
    public: [
      '8.8.8.8',
      '100.63.255.255',
      '100.128.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '192.0.1.1',
      '192.0.2.1',
      '198.51.100.1',
      '203.0.113.9',
      '2001:db8::1',
      '2606:4700::1111',
      '::ffff:8.8.8.8',
    ],
  };
  for (const [reach, addresses] of Object.entries(table)) {
    for (const address of addresses) {
      it(`"${address}" is ${reach}`, () => assert.equal(reachOf(address), reach));
    }
  }

  it('of loopback is found in every spelling that carries it', () => {
    fc.assert(
      fc.property(fc.nat(255), fc.nat(255), fc.nat(255), (b, c, d) => {
        const dotted = `127.${b}.${c}.${d}`;
        const [high, low] = [`7f${hex(b)}`, `${hex(c)}${hex(d)}`];
        const spellings = [
          dotted,
          `::ffff:${dotted}`,
          `::ffff:${high}:${low}`,
          `0:0:0:0:0:FFFF:${high.toUpperCase()}:${low}`,
          `::${dotted}`,
          `64:ff9b::${dotted}`,
          `64:ff9b::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `::ffff:0:${dotted}`,
        ];
        for (const spelling of spellings) assert.equal(reachOf(spelling), 'machine', spelling);
      }),
    );
  });

  it('in decimal, octal, hexadecimal or short form becomes the same plain one in a URL', () => {
    fc.assert(
      fc.property(quad, ([a, b, c, d]) => {
        const number = ((a * 256 + b) * 256 + c) * 256 + d;
        const octal = [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.');
        const spellings = [
          `${number}`,
          `0x${number.toString(16)}`,
          octal,
          `0x${a.toString(16)}.${b}.0${c.toString(8)}.${d}`,
          `${a}.${b}.${c * 256 + d}`,
          `${a}.${(b * 256 + c) * 256 + d}`,
          `[::ffff:${a}.${b}.${c}.${d}]`,
        ];
        for (const spelling of spellings) {
          const host = new URL(`http://${spelling}/`).hostname.replace(/^\[|\]$/g, '');
          assert.deepEqual(addressBytes(host), [a, b, c, d], spelling);
        }
      }),
    );
  });

  it('reads the same however its zeros are written', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), (groups) => {
        const long = groups.map((group) => group.toString(16).padStart(4, '0')).join(':');
        const short = new URL(`http://[${long}]/`).hostname.slice(1, -1);
        assert.deepEqual(addressBytes(short), addressBytes(long));
      }),
    );
  });

  it('of one of this machine’s interfaces is of this machine, however public its number', () => {
    assert.equal(addressKind('203.0.113.9', new Set(['203.0.113.9'])).reach, 'machine');
    assert.equal(addressKind('::ffff:203.0.113.9', new Set(['203.0.113.9'])).reach, 'machine');
    const own = ownAddresses();
    for (const { address } of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
      const bytes = addressBytes(address.split('%')[0] ?? '');
      assert.ok(bytes && own.has(bytes.join('.')), address);
      assert.notEqual(addressKind(address).reach, 'public');
    }
  });
});
