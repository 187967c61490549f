// What all demo pages share. Each page has its own script for what is its own.
window.demo = {
  /** Ends the renderer at once: V8 gives up on an array of this length instead of throwing. */
  crash() {
    'x'.repeat(2 ** 28).split('');
  },

  /** Runs `start` now, or when the consent overlay has been dismissed. */
  whenAllowed(start) {
    const overlay = document.querySelector('.consent');
    if (overlay === null) start();
    else overlay.addEventListener('dismissed', start);
  },

  /** Asks the server, and yields the lines of its streamed answer. Throws what a failed answer was. */
  async *ask(url, question, signal) {
    const response = await fetch(url, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ question }),
    });
    if (response.status === 403) location.assign('/challenge');
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let pending = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (pending + value).split('\n');
      pending = lines.pop();
      yield* lines;
    }
    if (pending !== '') yield pending;
  },
};

for (const button of document.querySelectorAll('[data-consent]')) {
  button.addEventListener('click', () => {
    const overlay = document.querySelector('.consent');
    overlay.remove();
    document.querySelector('main').hidden = false;
    overlay.dispatchEvent(new Event('dismissed'));
  });
}
