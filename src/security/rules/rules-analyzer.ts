import { isAction, type NewAction } from '../../events/event.ts';
import type { Place, Rating, SecurityAnalyzer } from '../analyzer.ts';
import { readsPath, writesPath } from './paths.ts';
import { rateScript } from './rate-script.ts';
import { high, LOW, medium } from './rating.ts';

/** Rates by what an action touches, without a model. Commands are read by a parser of bash; see `docs/confirmation.md`. */
export class RulesAnalyzer implements SecurityAnalyzer {
  rate(action: NewAction, { root, cwd }: Place): Rating {
    const ground = { root, cwd: cwd ?? root };
    try {
      if (isAction(action, 'run')) return rateScript(action.args.command, ground);
      if (isAction(action, 'read')) return readsPath(action.args.path, ground);
      if (isAction(action, 'edit')) return writesPath(action.args.path, ground);
      if (isAction(action, 'call_tool_mcp')) return ofName(action.args.name);
      return LOW;
    } catch {
      // A parser that gives up has understood nothing.
      return high('It could not be read.');
    }
  }
}

const CHANGES =
  /(^|[_-])(delete|remove|drop|destroy|purge|publish|push|send|post|deploy|merge|execute|exec|run|shell|eval|grant|revoke|transfer|pay)([_-]|$)/i;
const READS = /(^|[_-])(get|list|read|search|find|fetch|describe|show|view|query|count|echo)([_-]|$)/i;

/** Servers name their tools by what they do; nothing else is known of them here. */
function ofName(name: string): Rating {
  const words = name.replaceAll(/([a-z])([A-Z])/g, '$1_$2');
  if (CHANGES.test(words)) return high(`The tool ${name} seems to change something outside of the sandbox.`);
  return READS.test(words) ? LOW : medium(`What the tool ${name} does is not known here.`);
}
