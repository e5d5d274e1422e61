import type { Rating } from '../analyzer.ts';
import { type Call, has, valuesOf } from './call.ts';
import { high, LOW, medium, worst } from './rating.ts';
import type { Token } from './words.ts';

/** Programs that start another one, with the options of theirs that take a value. */
const WRAPPERS: Readonly<Record<string, RegExp>> = {
  env: /^(-u|--unset|-C|--chdir)$/,
  nice: /^(-n|--adjustment)$/,
  ionice: /^-[cnpu]$/,
  nohup: /^$/,
  setsid: /^$/,
  stdbuf: /^-[ioe]$/,
  timeout: /^(-k|-s|--signal|--kill-after)$/,
  time: /^(-f|-o)$/,
  command: /^$/,
  builtin: /^$/,
  exec: /^-a$/,
  busybox: /^$/,
  toybox: /^$/,
  unbuffer: /^$/,
  chronic: /^$/,
  watch: /^(-n|--interval)$/,
  flock: /^(-w|-E|--timeout)$/,
  xargs: /^(-[aEeIiLlnPsd]|--(arg-file|max-args|max-procs|replace|delimiter|max-lines))$/,
  parallel: /^(-[jIN]|--jobs)$/,
  coproc: /^$/,
  taskset: /^$/,
  xvfb: /^$/,
  'xvfb-run': /^$/,
  catchsegv: /^$/,
};

/** Null for a program that starts no other. */
export function rateWrapper(call: Call): Rating | null {
  const { name, args } = call;
  if (name === 'find' || name === 'fd') return find(call);
  const valued = WRAPPERS[name];
  if (!valued) return null;
  if (name === 'command' && has(args, 'vV')) return LOW;
  const rest = started(name, args, valued);
  if (name === 'env' && has(args, 'S', '--split-string')) {
    return call.script(
      valuesOf(args, '-S', '--split-string')
        .map(({ text }) => text)
        .join(' '),
    );
  }
  if (rest.length === 0) {
    if (name === 'env') return medium('It shows all variables.');
    return name === 'exec' || name === 'xargs' ? LOW : medium(`It is not known what ${name} starts.`);
  }
  if (name === 'watch') return call.script(rest.map(({ text }) => text).join(' '));
  if (name !== 'xargs' && name !== 'parallel') return call.command(rest);
  const inputs = rest.findIndex(({ text }) => /^:::\+?$/.test(text));
  if (name === 'parallel' && inputs !== -1) {
    // Each input is joined to the command, and a shell reads the whole.
    const words = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join(' ');
    const command = words(rest.slice(0, inputs)).replaceAll('{}', '');
    const given = rest.slice(inputs + 1).filter(({ text }) => !/^:::\+?$/.test(text));
    return worst(given.map(({ text }) => call.script(`${command} ${text}`)));
  }
  const replaced = valuesOf(args, '-I', '--replace').map(({ text }) => text);
  if (
    rest.some(({ text }) => /^-[a-z]*c$/.test(text)) &&
    rest.some(({ text }) => [...replaced, '{}'].some((one) => text.includes(one)))
  ) {
    return high('It gives a shell what another program writes.');
  }
  return worst([call.command(rest, { open: true })]);
}

function started(name: string, args: readonly Token[], valued: RegExp): readonly Token[] {
  let at = 0;
  for (; at < args.length; at += 1) {
    const text = args[at]?.text ?? '';
    if (text === '--') {
      at += 1;
      break;
    }
    if (valued.test(text)) at += 1;
    else if (!text.startsWith('-') && !(name === 'env' && /^[A-Za-z_]\w*=/.test(text))) break;
  }
  // The duration, the lock's file, the processors.
  return args.slice(/^(timeout|flock|taskset)$/.test(name) ? at + 1 : at);
}

function find(call: Call): Rating {
  const { args } = call;
  const found: Rating[] = [LOW];
  const places = args.slice(
    0,
    Math.max(
      0,
      args.findIndex(({ text }) => /^[-(!]/.test(text)),
    ),
  );
  const where = places.length > 0 ? places : [{ ...(args[0] ?? PLACE), text: '.' }];
  for (const [at, { text }] of args.entries()) {
    if (/^-(exec|execdir|ok|okdir|x|X|-exec|-exec-batch)$/.test(text)) {
      const rest = args.slice(at + 1);
      const end = rest.findIndex((one) => one.text === ';' || one.text === '+');
      const command = (end === -1 ? rest : rest.slice(0, end)).filter((one) => one.text !== '{}');
      const code = rest
        .slice(0, end === -1 ? undefined : end)
        .some((one) => one.text !== '{}' && one.text.includes('{}'));
      found.push(
        code
          ? high('It gives a shell the names of files as commands.')
          : call.command([...command, ...where]),
      );
    }
    if (text === '-delete') {
      const how = {
        ...PLACE,
        text: EVERYTHING.test(args.slice(places.length).map(textOf).join(' ')) ? '-r' : '-d',
      };
      found.push(call.command([{ ...PLACE, text: 'rm' }, how, ...where]));
    }
    if (/^-(fprint|fprintf|fls|fprint0)$/.test(text)) {
      found.push(call.command([{ ...PLACE, text: 'touch' }, args[at + 1] ?? PLACE]));
    }
  }
  return worst(found);
}

const textOf = ({ text }: Token): string => text;
/** An expression of `find` that leaves out nothing of what is there. */
const EVERYTHING = /^(-(depth|xdev|mount|print|delete|mindepth [01])( |$))+$/;

const PLACE: Token = { text: '', known: true, plain: true, substitutes: false, variables: [] };
