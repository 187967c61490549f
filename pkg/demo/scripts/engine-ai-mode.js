const reply = document.querySelector('.reply');
const panel = document.querySelector('.panel');
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function listSource({ url, title, snippet }) {
  const card = panel.appendChild(document.createElement('article'));
  card.className = 'source-card';
  const link = card.appendChild(document.createElement('a'));
  link.href = url;
  link.textContent = title;
  card.appendChild(document.createElement('p')).textContent = snippet;
}

async function follow() {
  const startedMs = performance.now();
  for (;;) {
    const elapsed = Math.round(performance.now() - startedMs);
    const response = await fetch(`/engine_ai_mode/reply${location.search}&elapsed=${elapsed}`);
    const { html, progress, sources, edited, crash } = await response.json();
    if (crash) window.demo.crash();
    if (reply.innerHTML !== html) reply.innerHTML = html;
    reply.dataset.progress = progress;
    if (progress === 100) {
      sources.forEach(listSource);
      if (edited !== '' && html !== '') setTimeout(() => (reply.lastElementChild.textContent = edited), 150);
      return;
    }
    await wait(50);
  }
}

window.demo.whenAllowed(() => void follow());
