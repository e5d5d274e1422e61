import type { UNKNOWN_HERE } from '../../contract/events.ts';
import { type Result, wrong } from './bench.ts';

type NotHere = (typeof UNKNOWN_HERE)[number];

const NO_BROWSER =
  'There is no browser here, so this was not done. Send `run` with curl, or `call_tool_mcp` for a tool of an MCP server that browses.';

/** What is not here, and what does as much. */
const INSTEAD: Readonly<Record<NotHere, string>> = {
  run_ipython: 'There is no IPython here, so this was not done. Send `run` with python3 in its command.',
  browse: NO_BROWSER,
  browse_interactive: NO_BROWSER,
  delegate:
    'There is no other agent here to delegate to, so this was not done. Send what is to be done as a `message`, or begin another conversation for it.',
  condensation_request:
    'The history is not condensed on request: it is done by itself once the history no longer fits the window of the model. Nothing needs to be sent for it.',
};

/** Whether an action of V0's is one that no tool here does. */
export function isNotHere(name: string): name is NotHere {
  return Object.hasOwn(INSTEAD, name);
}

/** The answer of such an action: what to send instead. */
export function sayInstead(name: NotHere): Result {
  return wrong(INSTEAD[name]);
}
