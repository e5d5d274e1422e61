import { describe, it } from 'node:test';
import { answerFacts } from './git-provider-answers.ts';
import { troubleFacts } from './git-provider-trouble.ts';
import { type ProviderDialect, Under } from './git-provider-under.ts';

/** Holds an adapter to what the port promises. */
export function testGitProvider(dialect: ProviderDialect): void {
  describe(dialect.provider, () => {
    for (const [name, fact] of Object.entries({ ...answerFacts, ...troubleFacts })) {
      it(name, async () => {
        const under = new Under(dialect, await dialect.start());
        try {
          await fact(under);
        } finally {
          await under.close();
        }
      });
    }
  });
}
