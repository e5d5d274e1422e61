import type { Event } from '../../events/event.ts';

/** Characters of one event, which the agent knows anyway: enough to tell which is meant. */
const MOST_SHOWN = 600;

/**
 * What a user sends to have the agent write down what was learnt at event `at`. The agent has the whole conversation
 * before it, so that no model is needed to make the prompt: the events only point to the place.
 */
export function rememberPrompt(events: readonly Event[], at: number): string {
  const lines = events.flatMap((event) => {
    const said = shown(event);
    return said === '' ? [] : [`${event.id === at ? '>' : ' '} ${event.source}: ${said}`];
  });
  return [
    'Write down for later conversations about this repository what was learnt at the place marked with ">" below, so that nobody has to find it out again.',
    '',
    'Put it into `.openhands/microagents/`: into the file there that it belongs to, or else into a new one named after its subject. A new file that is to be told only when a word comes up begins with a head in YAML (`name`, `type: knowledge`, `triggers`); one that is always to be told is `repo.md`. Write the rule and its reason, not the story, in a few sentences; nothing that the code says by itself, and no secret.',
    '',
    'The place:',
    '',
    ...lines,
  ].join('\n');
}

function shown(event: Event): string {
  if (!['user', 'agent'].includes(event.source)) return '';
  const text = ('content' in event ? event.content || event.message : event.message).trim();
  const flat = text.replaceAll(/\s*\n\s*/g, ' | ');
  return flat.length > MOST_SHOWN ? `${flat.slice(0, MOST_SHOWN)} …` : flat;
}
