import { pause } from './clock.ts';

/**
 * Answers what is asked one by one in groups: what is asked while one group is answered, and for `restMs` after it,
 * gathers and is the next, of at most `most`. A lone question is answered at once, and no answer is older than its
 * question. `answer` gives one for each, in their order; where it rejects, the whole group does.
 */
export function gather<Question, Answer>(
  answer: (questions: readonly Question[]) => Promise<readonly Answer[]>,
  { most = 100, restMs = 0 }: { most?: number; restMs?: number } = {},
): (question: Question) => Promise<Answer> {
  const waiting: { question: Question; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = [];
  let answering = false;

  async function answerAll(): Promise<void> {
    answering = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, most);
      try {
        const answers = await answer(group.map(({ question }) => question));
        if (answers.length !== group.length) throw new Error(`${answers.length} answers to ${group.length} questions`);
        answers.forEach((one, at) => group[at]?.resolve(one));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
      if (restMs > 0) await pause(restMs);
    }
    answering = false;
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (!answering) void answerAll();
    });
}
