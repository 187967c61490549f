import type { Request, Response } from 'express';
import { readDirectives, type Directives } from './directives.ts';
import { renderChallenge, renderErrorPage } from './html.ts';

/** The directives of the page's own `q`. Chats read theirs from the question that is asked in the page. */
export function readQuery(request: Request): Directives {
  return readDirectives(readText(request.query['q']));
}

/** The directives of a question that a page's script sends as JSON. */
export function readQuestion(request: Request): Directives {
  const body: unknown = request.body;
  const question: unknown = typeof body === 'object' && body !== null && 'question' in body ? body.question : '';
  return readDirectives(readText(question));
}

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Answers with the challenge or the error page that the directives ask for; true when it did. */
export function refuse(response: Response, { blocked, status }: Directives): boolean {
  if (blocked) response.status(403).type('html').send(renderChallenge());
  else if (status !== null && status !== 200) response.status(status).type('html').send(renderErrorPage(status));
  else return false;
  return true;
}
