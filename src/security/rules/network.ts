import type { Rating } from '../analyzer.ts';
import { type Call, has, operands, valuesOf } from './call.ts';
import { readsPath, writesPath } from './paths.ts';
import { high, LOW, medium, worst } from './rating.ts';

const CONNECTS =
  /^(nc|ncat|netcat|socat|telnet|ssh|sftp|scp|ftp|lftp|tftp|rsh|rlogin|ssh-copy-id|mail|sendmail|mutt|mailx|cryptcat|openvpn|wg|nmap|masscan|tcpdump|ngrok|localtunnel|cloudflared|rclone|s3cmd|smbclient|ldapsearch|dig|nslookup|host)$/;

/** Null for a program that does not use the network. */
export function rateNetwork(call: Call): Rating | null {
  const { name, args, ground } = call;
  if (CONNECTS.test(name)) return high(`${name} connects to other machines.`);
  if (/^(ping6?|traceroute|getent)$/.test(name) && args.some(({ substitutes }) => substitutes)) {
    return high('It sends the output of another command.');
  }
  if (name === 'rsync') return rsync(call);
  if (name !== 'curl' && name !== 'wget' && name !== 'http' && name !== 'https') return null;
  if (args.some(({ substitutes }) => substitutes)) return high('It sends the output of another command.');
  const sends =
    name === 'curl'
      ? has(
          args,
          'dFT',
          '--data',
          '--data-raw',
          '--data-binary',
          '--data-urlencode',
          '--data-ascii',
          '--form',
          '--form-string',
          '--json',
          '--upload-file',
        ) || valuesOf(args, '-X', '--request').some(({ text }) => !/^(GET|HEAD|OPTIONS)$/i.test(text))
      : name === 'wget'
        ? has(args, '', '--post-data', '--post-file', '--body-data', '--body-file') ||
          valuesOf(args, '', '--method').some(({ text }) => !/^(GET|HEAD)$/i.test(text))
        : args.some(
            ({ text }) => /^(POST|PUT|PATCH|DELETE)$/.test(text) || /^[^-:/][^:/]*(:?=|@)/.test(text),
          );
  const addresses = operands(args, VALUED).map(({ text }) => text);
  const here = addresses.length > 0 && addresses.every((one) => LOOPBACK.test(one));
  const files = valuesOf(
    args,
    name === 'curl' ? '-o' : '-O',
    '--output',
    '--output-document',
    '--output-dir',
    '-P',
  );
  return worst([
    ...files.filter(({ text }) => text !== '-').map(({ text }) => writesPath(text, ground)),
    ...args.flatMap(({ text }) =>
      /@|^file:/.test(text) ? [readsPath(text.replace(/^.*@|^file:\/\//, ''), ground)] : [],
    ),
    ...addresses
      .filter((one) => one.startsWith('file:'))
      .map(() => medium('It reads files by their address.')),
    ...(has(args, 'K', '--config') ? [high('What it sends is said in a file.')] : []),
    ...(sends && !here ? [high('It sends data to another machine.')] : []),
    ...(args.some(({ text }) => text.includes('169.254.169.254') || text.includes('metadata.google'))
      ? [high('It asks the cloud for credentials.')]
      : []),
    here ? LOW : medium('It fetches something from the network.'),
  ]);
}

const LOOPBACK = /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)([:/]|$)/;
const VALUED =
  /^(-[oHdXAbcefmuFTxwK]|-[A-Za-z]*[oHdXF]|--(output|header|data[a-z-]*|request|user-agent|cookie|max-time|connect-timeout|retry|user|form|json|upload-file|write-out|proxy|config|timeout|tries)|-[OPt])$/;

function rsync({ args, ground }: Call): Rating {
  const places = operands(args, /^(-e|--rsh|--exclude|--include)$/);
  if (has(args, 'e', '--rsh')) return high('It has rsync start another program.');
  if (places.some(({ text }) => /^[^/]+:/.test(text) || text.startsWith('rsync:'))) {
    return high('It copies to or from another machine.');
  }
  const target = places.at(-1);
  return worst([
    ...(target ? [writesPath(target.text, ground, has(args, '', '--delete'))] : []),
    ...places.slice(0, -1).map(({ text }) => readsPath(text, ground)),
  ]);
}
