/** What the chat interfaces made with React show for an assistant's markdown: GFM, KaTeX and highlight.js. */
export declare function renderReact(markdown: string): string;
