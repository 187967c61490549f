const main = document.querySelector('main');
const box = document.querySelector('#ai-box');
const overview = box.querySelector('.overview');
const more = box.querySelector('.show-more');
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function showCards(cards) {
  for (const { url, title, site } of cards) {
    const item = document.createElement('li');
    const link = item.appendChild(document.createElement('a'));
    link.href = url;
    link.append(Object.assign(document.createElement('strong'), { textContent: title }));
    link.append(Object.assign(document.createElement('small'), { textContent: ` ${site}` }));
    box.querySelector('.cards').append(item);
  }
}

async function showOverview() {
  const response = await fetch(`/engine_ai_overview/box${location.search}`);
  const reply = await response.json();
  if (reply.crash) window.demo.crash();
  if (reply.absent) {
    box.remove();
    main.dataset.ai = 'none';
    return;
  }
  box.querySelector('.skeleton').remove();
  overview.innerHTML = reply.blocks.slice(0, 1).join('');
  if (reply.stall) return;
  await wait(120);
  // What "Show more" opens is in the page already, hidden.
  const rest = overview.appendChild(document.createElement('div'));
  rest.innerHTML = reply.blocks.slice(1).join('');
  rest.hidden = true;
  more.hidden = reply.blocks.length < 2;
  more.addEventListener('click', () => {
    rest.hidden = false;
    more.remove();
  });
  showCards(reply.cards);
  box.setAttribute('aria-busy', 'false');
  main.dataset.ai = 'shown';
  const last = rest.lastElementChild;
  if (reply.edited !== '' && last !== null) setTimeout(() => (last.textContent = reply.edited), 150);
}

window.demo.whenAllowed(() => void showOverview());
