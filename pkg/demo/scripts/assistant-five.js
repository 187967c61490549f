const conversation = document.querySelector('.conversation');
const field = document.querySelector('#ask');
const submit = document.querySelector('[data-testid="submit"]');

function render(state, html) {
  const next = document.createElement('div');
  next.className = 'answer';
  next.dataset.status = state;
  next.innerHTML = html;
  conversation.querySelector('.answer:last-of-type').replaceWith(next);
  return next;
}

async function converse(question) {
  conversation.insertAdjacentHTML(
    'beforeend',
    '<h2 class="question"></h2><div class="answer" data-status="streaming"><span class="cursor">&nbsp;</span></div>',
  );
  let name = '';
  let html = '';
  for await (const line of window.demo.ask('/assistant_five/stream', question)) {
    if (line.startsWith('event: ')) name = line.slice(7);
    if (!line.startsWith('data: ')) continue;
    const data = JSON.parse(line.slice(6));
    if (data.crash) window.demo.crash();
    if (name === 'start') conversation.querySelector('.question:last-of-type').textContent = data.question;
    if (name === 'answer') html = data.html;
    const node = render(name === 'end' ? 'complete' : 'streaming', html);
    if (name === 'end' && data.edited !== '' && html !== '') {
      setTimeout(() => {
        node.lastElementChild.textContent = data.edited;
        render('complete', node.innerHTML);
      }, 150);
    }
  }
}

submit.addEventListener('click', async () => {
  const question = field.value;
  if (question.trim() === '') return;
  field.value = '';
  submit.disabled = true;
  try {
    await converse(question);
  } catch (error) {
    conversation.querySelector('.answer:last-of-type').remove();
    conversation.insertAdjacentHTML('beforeend', '<p class="problem" role="alert">Please try again later.</p>');
    console.warn(error);
  }
  submit.disabled = false;
});
