const TICKS = 30;
const TICK_MS = 12;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class ChatRoom extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: 'open' });
    root.innerHTML = `<style>textarea{width:100%;font:inherit}.error{color:#a00}</style><div class="turns"></div>
      <label>Ask anything <textarea rows="3" name="question"></textarea></label>
      <button type="button" class="ask">Ask</button>`;
    this.button = root.querySelector('.ask');
    this.button.addEventListener('click', () => this.ask());
  }

  async ask() {
    const field = this.shadowRoot.querySelector('textarea');
    const question = field.value;
    if (question.trim() === '' || this.button.disabled) return;
    field.value = '';
    this.button.disabled = true;
    const turn = document.createElement('chat-turn');
    this.shadowRoot.querySelector('.turns').append(turn);
    try {
      await turn.show(question);
    } catch (error) {
      turn.remove();
      const problem = document.createElement('p');
      problem.className = 'error';
      problem.setAttribute('role', 'alert');
      problem.textContent = `No answer: ${error.message}`;
      this.shadowRoot.querySelector('.turns').append(problem);
    }
    this.button.disabled = false;
  }
}

class ChatTurn extends HTMLElement {
  connectedCallback() {
    if (this.shadowRoot !== null) return;
    this.attachShadow({ mode: 'open' }).innerHTML =
      `<style>.chip{font-size:.7rem;border-radius:1rem}.who{color:#667}</style><p class="who"></p><div class="body"></div>
      <button type="button" class="open-sources" hidden>Sources</button><ol class="sources" hidden></ol>`;
    this.dataset.state = 'thinking';
  }

  async show(question) {
    const reply = await this.fetchReply(question);
    if (reply.crash) window.demo.crash();
    this.shadowRoot.querySelector('.who').textContent = `${reply.question} · ${reply.model}`;
    this.dataset.model = reply.model;
    this.dataset.state = 'typing';
    const complete = await this.type(reply);
    if (!complete) return new Promise(() => {});
    this.offerSources(reply.sources);
    this.dataset.state = 'done';
    const last = this.shadowRoot.querySelector('.body').lastElementChild;
    if (reply.edited !== '' && last !== null) setTimeout(() => (last.textContent = reply.edited), 150);
  }

  async fetchReply(question) {
    let text = '';
    for await (const line of window.demo.ask('/assistant_three/turns', question)) text += line;
    return JSON.parse(text);
  }

  async type({ pieces, stall }) {
    const body = this.shadowRoot.querySelector('.body');
    const size = Math.max(1, Math.ceil(pieces.length / TICKS));
    for (const [index, piece] of pieces.entries()) {
      if (stall && index > pieces.length / 2) return false;
      const block = body.children[piece.block] ?? body.appendChild(document.createElement(piece.tag));
      block.insertAdjacentHTML('beforeend', piece.html);
      if (index % size === size - 1) await wait(TICK_MS);
    }
    return !stall;
  }

  offerSources(sources) {
    const opener = this.shadowRoot.querySelector('.open-sources');
    const list = this.shadowRoot.querySelector('.sources');
    opener.hidden = sources.length === 0;
    opener.addEventListener('click', () => {
      list.hidden = false;
      list.replaceChildren(
        ...sources.map(({ ref, url, title }) => {
          const item = document.createElement('li');
          item.dataset.source = ref;
          const link = item.appendChild(document.createElement('a'));
          link.href = url;
          link.textContent = title;
          return item;
        }),
      );
    });
  }
}

customElements.define('chat-room', ChatRoom);
customElements.define('chat-turn', ChatTurn);
