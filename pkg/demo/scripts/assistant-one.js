const thread = document.querySelector('#thread');
const prompt = document.querySelector('#prompt');
const send = document.querySelector('#send');
const stop = document.querySelector('#stop');

let stopped = new AbortController();

function add(parent, tag, className, text = '') {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  parent.append(node);
  return node;
}

function setBusy(busy) {
  send.hidden = busy;
  stop.hidden = !busy;
}

async function answer(question) {
  const asked = add(thread, 'article', 'turn user');
  const turn = add(thread, 'article', 'turn assistant streaming');
  const searches = add(turn, 'ul', 'searches');
  const body = add(turn, 'div', 'markdown');
  const tools = add(turn, 'div', 'toolbar');
  let edit = null;
  for await (const line of window.demo.ask('/assistant_one/ask', question, stopped.signal)) {
    const event = JSON.parse(line);
    if (event.type === 'question') asked.textContent = event.text;
    if (event.type === 'crash') window.demo.crash();
    if (event.type === 'search') add(searches, 'li', 'search', event.query);
    if (event.type === 'edit') edit = event.text;
    if (event.type === 'piece') {
      const block = body.children[event.block] ?? body.appendChild(document.createElement(event.tag));
      block.insertAdjacentHTML('beforeend', event.html);
    }
  }
  searches.remove();
  turn.classList.remove('streaming');
  add(tools, 'button', 'copy', 'Copy').type = 'button';
  if (edit !== null) setTimeout(() => (body.lastElementChild.textContent = edit), 150);
}

document.querySelector('#composer').addEventListener('submit', async (event) => {
  event.preventDefault();
  const question = prompt.innerText;
  if (question.trim() === '') return;
  prompt.textContent = '';
  stopped = new AbortController();
  setBusy(true);
  try {
    await answer(question);
  } catch (error) {
    add(thread, 'p', 'alert', `Something went wrong: ${error.message}`).setAttribute('role', 'alert');
  }
  setBusy(false);
});

stop.addEventListener('click', () => stopped.abort());

// Enter sends, as in every chat; Shift with Enter makes a new line.
prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey) return;
  event.preventDefault();
  if (stop.hidden) document.querySelector('#composer').requestSubmit();
});
