// Runs in a page: one rich editor by name, as chat interfaces embed it. Enter sends, as it does there.
import { defaultKeymap } from '@codemirror/commands';
import { EditorState as CodeState } from '@codemirror/state';
import { EditorView as CodeView, keymap } from '@codemirror/view';
import { registerRichText } from '@lexical/rich-text';
import { Editor } from '@tiptap/core';
import StarterKit from '@tiptap/starter-kit';
import { $getRoot, createEditor as createLexical } from 'lexical';
import Quill from 'quill';
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { createEditor as createSlate, Node } from 'slate';
import { Editable, Slate, withReact } from 'slate-react';

/** Each puts an editor into `place` and returns what reads its text, one line for each line that a person sees. */
const EDITORS = {
  quill: (place) => {
    const quill = new Quill(place);
    return () => quill.getText().replace(/\n$/, '');
  },
  lexical: (place) => {
    place.contentEditable = 'true';
    const editor = createLexical({ onError: (error) => console.error(error) });
    editor.setRootElement(place);
    registerRichText(editor);
    return () =>
      editor.read(() =>
        $getRoot()
          .getChildren()
          .map((child) => child.getTextContent())
          .join('\n'),
      );
  },
  tiptap: (place) => {
    const editor = new Editor({ element: place, extensions: [StarterKit] });
    return () => editor.getText({ blockSeparator: '\n' });
  },
  codemirror: (place) => {
    const extensions = [keymap.of(defaultKeymap), CodeView.lineWrapping];
    const view = new CodeView({ parent: place, state: CodeState.create({ extensions }) });
    return () => view.state.doc.toString();
  },
  slate: (place) => {
    const editor = withReact(createSlate());
    const initialValue = [{ type: 'paragraph', children: [{ text: '' }] }];
    createRoot(place).render(createElement(Slate, { editor, initialValue }, createElement(Editable)));
    return () => editor.children.map((child) => Node.string(child)).join('\n');
  },
  'no library': (place) => {
    place.contentEditable = 'true';
    // Not `innerText`, which tells an empty line twice.
    const BREAKS = { BR: '\n', DIV: '\n' };
    return () =>
      [...place.childNodes].map(({ nodeName, textContent }) => (BREAKS[nodeName] ?? '') + textContent).join('');
  },
};

const place = document.querySelector('#editor');
const readText = EDITORS[decodeURIComponent(location.hash.slice(1))](place);
const send = () => document.querySelector('#answer').append(readText());
document.querySelector('#send').addEventListener('click', send);
place.addEventListener('keydown', ({ key, shiftKey }) => {
  if (key === 'Enter' && !shiftKey) send();
});
