export { buildOpenApi } from './document.ts';
export {
  DOCUMENTED_METHODS,
  type Content,
  type DocumentedMethod,
  type OpenApiDocument,
  type Operation,
  type Reply,
  type Schema,
} from './types.ts';
