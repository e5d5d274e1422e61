import type { RepositoryKnowledge } from '../../microagents/read.ts';
import { triggeredBy } from '../../microagents/triggers.ts';
import type { ObservationExtras } from '../../events/event.ts';
import type { AgentContext } from '../context.ts';
import type { RecallMemory } from '../recall-memory.ts';

type Knowledge = ObservationExtras['recall']['microagent_knowledge'];

/** Characters of instructions, and of knowledge, that one recall tells at most; and which part of a small window. */
const MOST_TOLD = 40_000;
const PART_OF_WINDOW = 1 / 8;
const CHARACTERS_PER_TOKEN = 3;

/** How many characters of each are told. */
export function roomFor({ model }: Pick<AgentContext, 'model'>): number {
  if (!model) return MOST_TOLD;
  return Math.min(MOST_TOLD, Math.floor(model.window * CHARACTERS_PER_TOKEN * PART_OF_WINDOW));
}

/** What is told always, as one text. */
export function instructionsOf({ microagents }: RepositoryKnowledge, room: number): string {
  const told = new Room(room);
  return microagents
    .flatMap(({ type, name, content }) => (type === 'repo' && content !== '' ? [{ name, content }] : []))
    .map(({ name, content }) => `# ${name}\n${told.take(content)}`)
    .join('\n\n');
}

/** What a message brings up and was not told before. */
export function knowledgeFor(
  message: string,
  { microagents }: RepositoryKnowledge,
  room: number,
  memory: RecallMemory,
): Knowledge {
  const told = new Room(room);
  return triggeredBy(message, microagents).flatMap(({ microagent: { name, content, inputs }, trigger }) => {
    const asks = inputs.map((input) => `* ${input.name}: ${input.description}`).join('\n');
    const whole =
      asks === '' ? content : `${content}\n\nAsk the user for what of this is not known:\n${asks}`;
    const shown = told.take(whole);
    return shown === '' || memory.wasTold(name, shown) ? [] : [{ name, trigger, content: shown }];
  });
}

/** Room that texts share, in their order. */
class Room {
  #left: number;

  constructor(characters: number) {
    this.#left = characters;
  }

  take(text: string): string {
    const shown = text.slice(0, this.#left).toWellFormed();
    this.#left -= shown.length;
    return shown.length === text.length ? text : `${shown}\n[… cut here; its file has the rest …]`;
  }
}
