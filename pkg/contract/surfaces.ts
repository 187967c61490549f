/** The closed list of surfaces (spec 2.1). Which of them are live is known at runtime only, from their lanes. */
export const SURFACES = [
  'assistant_one',
  'assistant_two',
  'assistant_three',
  'assistant_four',
  'assistant_five',
  'engine_ai_overview',
  'engine_ai_mode',
  'engine_search',
  'engine_news',
] as const;

export type Surface = (typeof SURFACES)[number];

export function isSurface(value: unknown): value is Surface {
  return SURFACES.some((surface) => surface === value);
}

/** Assistants must answer: one that finishes without text has failed (`EMPTY_ANSWER`); an engine may have nothing. */
export function isAssistant(surface: Surface): boolean {
  return surface.startsWith('assistant_');
}
