import { isAction, type ActionEvent } from '../../events/event.ts';
import { type Bench, type Result, wrong } from './bench.ts';
import { editFile } from './edit.ts';
import { callMcpTool } from './mcp.ts';
import { isNotHere, sayInstead } from './not-here.ts';
import { askProvider } from './provider/ask-provider.ts';
import { operationOf } from './provider/provider-tools.ts';
import { runCommand } from './shell.ts';
import { trackTasks } from './task-tracker.ts';
import { noteThought } from './think.ts';
import { readFile } from './view.ts';
import { writeFile } from './write.ts';
import { searchWeb, WEB_SEARCH } from './web-search.ts';

/** Whether doing it twice differs from doing it once: such an action is marked as started before it is begun. */
export function hasEffect(action: { action: string }): boolean {
  return !['think', 'task_tracking', 'read', 'finish'].includes(action.action) && !isNotHere(action.action);
}

/**
 * Does what an action says, by the action alone, so that what a user sees and confirms is what happens.
 * @throws ServiceError sandbox_unavailable
 */
export async function carryOut(action: ActionEvent, bench: Bench): Promise<Result> {
  if (isAction(action, 'run')) return await runCommand(action, bench);
  if (isAction(action, 'read')) return await readFile(action, bench);
  if (isAction(action, 'edit')) return await editFile(action, bench);
  if (isAction(action, 'call_tool_mcp')) {
    if (action.args.server !== undefined) return await callMcpTool(action, bench);
    if (action.args.name === WEB_SEARCH) return await searchWeb(action, bench);
    const asked = operationOf(action.args.name);
    return await (asked ? askProvider(action, asked, bench) : callMcpTool(action, bench));
  }
  if (isAction(action, 'think')) return noteThought();
  if (isAction(action, 'task_tracking')) return trackTasks(action, bench.tasks.tasks);
  if (isAction(action, 'write')) return await writeFile(action, bench);
  const { action: name } = action as { action: string };
  if (isNotHere(name)) return sayInstead(name);
  return wrong(`Nothing here carries out the action ${name}.`);
}
