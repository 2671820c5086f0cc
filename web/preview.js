// A form shows what it would do while it is filled in: the same page, asked for by itself, gives the part to show.
'use strict';
for (const form of document.querySelectorAll('form[data-preview]')) {
  let timer;
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const r = await fetch(form.dataset.preview, { method: 'POST', body: new URLSearchParams(new FormData(form)) });
      const fresh = new DOMParser().parseFromString(await r.text(), 'text/html').querySelector('#preview');
      if (fresh) document.querySelector('#preview').replaceWith(fresh);
    }, 600);
  });
}
