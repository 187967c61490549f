import { compile, isRegistered, TreeInterpreter } from '@jmespath-community/jmespath';

/** Longer ones are no mapping; the parser is recursive. */
const MAX_LENGTH = 1000;

export type Expression = (data: unknown) => unknown;

/** Why a JMESPath expression can't work, whatever it is applied to; null when it can. */
export function findExpressionFault(text: string): string | null {
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  try {
    const unknown = findFunctions(compile(text)).find((name) => !isRegistered(name));
    return unknown === undefined ? null : `calls ${unknown}(), which JMESPath does not have`;
  } catch (error) {
    return `is no JMESPath expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** `text` must have no fault. The expression throws where a function gets what it does not take. */
export function compileExpression(text: string): Expression {
  const tree = compile(text);
  return (data) => (isJson(data) ? TreeInterpreter.search(tree, data) : null);
}

type JsonValue = Parameters<typeof TreeInterpreter.search>[1];

/** What is read comes from `JSON.parse` or from an expression over it; only `undefined` is neither. */
function isJson(data: unknown): data is JsonValue {
  return data !== undefined;
}

/** A wrong name would otherwise show only when the first answer is read. */
function findFunctions(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const inner = Object.values(node).flatMap(findFunctions);
  const own = 'type' in node && node.type === 'Function' && 'name' in node && typeof node.name === 'string';
  return own ? [String(node.name), ...inner] : inner;
}
