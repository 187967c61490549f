import {
  DOCUMENTED_METHODS,
  ERRORS,
  type Content,
  type DocumentedMethod,
  type OpenApiDocument,
  type Operation,
  type Reply,
  type Schema,
} from '../contract/index.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h2{margin-top:3rem}h3{margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{border-bottom:1px solid #ddd;padding:.3rem .6rem;text-align:left;vertical-align:top}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{background:#f5f5f5;padding:.8rem;overflow:auto}
:target{background:#fff3bf}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}
td,th{border-color:#444}a{color:#8ab4f8}:target{background:#5c4a00}}`;

/**
 * The document as one page that loads nothing. Every code of the error catalogue is an anchor of its own, because
 * `docs_url` of each error leads there (spec 7).
 */
export function renderDocs(document: OpenApiDocument): string {
  const { info, paths, webhooks, components } = document;
  const sections = [
    `<h1>${escape(info.title)}</h1><p>${escape(info.summary)} Version ${escape(info.version)}. Machine-readable: <a href="openapi.json">openapi.json</a>.</p>`,
    ...info.description.split('\n\n').map((paragraph) => `<p>${renderText(paragraph)}</p>`),
    '<p><a href="#routes">Routes</a> · <a href="#deliveries">Webhook deliveries</a> · <a href="#schemas">Schemas</a> · <a href="#errors">Errors</a></p>',
    '<h2 id="routes">Routes</h2>',
    ...Object.entries(paths).flatMap(([path, item]) => renderPath(path, item)),
    '<h2 id="deliveries">Webhook deliveries</h2>',
    ...Object.entries(webhooks).flatMap(([, item]) => renderPath('your address', item)),
    '<h2 id="schemas">Schemas</h2>',
    ...Object.entries(components.schemas).map(([name, schema]) => renderNamedSchema(name, schema)),
    renderErrors(),
  ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escape(info.title)}</title><style>${STYLE}</style></head><body><main>${sections.join('\n')}</main></body></html>\n`;
}

function renderPath(path: string, item: Readonly<Partial<Record<DocumentedMethod, Operation>>>): string[] {
  return DOCUMENTED_METHODS.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [renderOperation(`${method.toUpperCase()} ${path}`, operation)];
  });
}

function renderOperation(title: string, operation: Operation): string {
  const [scopes] = operation.security.map((needed) => Object.values(needed).flat());
  const access = scopes === undefined ? 'No API key.' : `Scope <code>${escape(scopes.join(', '))}</code>.`;
  const parameters = (operation.parameters ?? []).map(
    ({ name, in: place, description, required, schema }) =>
      `<tr><td><code>${escape(name)}</code></td><td>${place}${required === true ? ', required' : ''}</td><td>${renderType(schema)}</td><td>${renderText(description)}</td></tr>`,
  );
  return [
    `<h3 id="${operation.operationId}"><code>${escape(title)}</code></h3>`,
    `<p>${renderText(operation.summary)}. ${renderText(operation.description ?? '')} ${access}</p>`,
    renderTable(['parameter', 'in', 'type', 'meaning'], parameters),
    ...(operation.requestBody === undefined ? [] : ['<p>Body:</p>', renderContent(operation.requestBody.content)]),
    renderTable(
      ['status', 'meaning', 'headers', 'body'],
      Object.entries(operation.responses).map(([status, reply]) => renderReply(status, reply)),
    ),
    ...Object.entries(operation.responses)
      .filter(([status]) => status.startsWith('2'))
      .map(([, reply]) => renderExamples(reply.content ?? {})),
  ].join('\n');
}

function renderReply(status: string, { description, headers, content = {} }: Reply): string {
  const types = Object.values(content).map(({ schema }) => renderType(schema));
  const names = Object.keys(headers).map((name) => `<code>${escape(name)}</code>`);
  return `<tr><td>${escape(status)}</td><td>${renderText(description)}</td><td>${names.join(' ')}</td><td>${types.join(', ')}</td></tr>`;
}

function renderContent(content: Content): string {
  const types = Object.entries(content).map(([type, { schema }]) => `<p>${escape(type)}: ${renderType(schema)}</p>`);
  return `${types.join('')}${renderExamples(content)}`;
}

function renderExamples(content: Content): string {
  const examples = Object.values(content).flatMap(({ examples = {} }) => Object.entries(examples));
  return examples
    .map(
      ([name, { value }]) =>
        `<details><summary>Example: ${escape(name)}</summary><pre>${escape(JSON.stringify(value, null, 2))}</pre></details>`,
    )
    .join('');
}

function renderNamedSchema(name: string, schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(
    ([field, member]) =>
      `<tr><td><code>${escape(field)}</code>${schema.required?.includes(field) === true ? '' : ' (optional)'}</td><td>${renderType(member)}</td><td>${renderText(member.description ?? '')}</td></tr>`,
  );
  const type = schema.properties === undefined ? `<p>${renderType(schema)}</p>` : '';
  return `<h3 id="schema-${name}">${name}</h3><p>${renderText(schema.description ?? '')}</p>${type}${renderTable(['field', 'type', 'meaning'], rows)}`;
}

/** A schema in a few words; a named one as a link to its section. */
function renderType(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `<a href="#schema-${name}">${name}</a>`;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map(renderType).join(' or ');
  if (schema.const !== undefined) return `<code>${escape(JSON.stringify(schema.const))}</code>`;
  if (schema.enum !== undefined)
    return schema.enum.map((word) => `<code>${escape(JSON.stringify(word))}</code>`).join(' ');
  if (schema.items !== undefined) return `list of ${renderType(schema.items)}`;
  if (schema.properties !== undefined) {
    const fields = Object.entries(schema.properties).map(([name, member]) => `${escape(name)}: ${renderType(member)}`);
    return `{${fields.join(', ')}}`;
  }
  return [schema.type ?? 'any'].flat().join(' or ');
}

function renderErrors(): string {
  const sections = Object.entries(ERRORS).map(
    ([code, { status, retryable, means }]) =>
      `<section id="${code}"><h3><code>${code}</code></h3><p>HTTP ${status}. ${renderText(means)} ${
        retryable
          ? 'Try again with exponential backoff and jitter, and honour <code>Retry-After</code>.'
          : 'Final for this request: sent again unchanged it fails again.'
      }</p></section>`,
  );
  return `<h2 id="errors">Errors</h2>${sections.join('\n')}`;
}

function renderTable(heads: readonly string[], rows: readonly string[]): string {
  if (rows.length === 0) return '';
  return `<table><thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

/** Text of the document, with `code` in backticks. */
function renderText(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
