import { describe, expect, it } from '@jest/globals';
import { findProofFault } from './check.ts';

describe('a proof page', () => {
  it('may hold text, styles, images in itself and links to the web', () => {
    const html = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'">
      <style>p{}</style><p style="color:red"><img src="data:image/png;base64,AA"><a href="https://x.example/">x</a></p>
      <x-a><template shadowrootmode="open"><b>shadow</b></template></x-a>`;
    expect(findProofFault(html)).toBeNull();
  });

  it.each([
    ['<script>1</script>', 'it holds <script>'],
    ['<svg><script>1</script></svg>', 'it holds <script>'],
    ['<template shadowrootmode="open"><script>1</script></template>', 'it holds <script>'],
    ['<iframe srcdoc="x"></iframe>', 'it holds <iframe>'],
    ['<p onclick="x()">x</p>', '<p> has onClick'],
    ['<a href=" JavaScript:x()">x</a>', '<a> links to javascript:x()'],
    ['<img src="https://x.example/a.png">', '<img> loads https://x.example/a.png'],
    ['<form action="https://x.example/"></form>', '<form> loads https://x.example/'],
    ['<meta http-equiv="refresh" content="0;url=x">', '<meta> has http-equiv refresh'],
    ['<base href="https://x.example/">', 'it holds <base>'],
  ])('may not hold %s', (html, fault) => {
    expect(findProofFault(html)).toBe(fault);
  });
});
