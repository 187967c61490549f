import type { Request } from 'express';
import { readText } from './request.ts';

export type Labels = {
  language: string;
  results: string;
  news: string;
  overview: string;
  showMore: string;
  sources: string;
  nothing: string;
  /** Says which language and country the page was asked for, so that a reader can see that they were applied. */
  locale: string;
};

type Words = Omit<Labels, 'language' | 'locale'>;

const ENGLISH: Words = {
  results: 'Search results',
  news: 'News',
  overview: 'AI Overview',
  showMore: 'Show more',
  sources: 'Sources',
  nothing: 'Nothing was found for this search.',
};

const WORDS: Record<string, Words> = {
  en: ENGLISH,
  de: {
    results: 'Suchergebnisse',
    news: 'Nachrichten',
    overview: 'Übersicht mit KI',
    showMore: 'Mehr anzeigen',
    sources: 'Quellen',
    nothing: 'Zu dieser Suche wurde nichts gefunden.',
  },
  fr: {
    results: 'Résultats de recherche',
    news: 'Actualités',
    overview: 'Aperçu IA',
    showMore: 'Afficher plus',
    sources: 'Sources',
    nothing: "Rien n'a été trouvé pour cette recherche.",
  },
  es: {
    results: 'Resultados',
    news: 'Noticias',
    overview: 'Vista creada con IA',
    showMore: 'Mostrar más',
    sources: 'Fuentes',
    nothing: 'No se ha encontrado nada.',
  },
};

/** The words of an engine page in the language of `hl` (or `lang`), in English where the demo does not know it. */
export function readLabels(request: Request): Labels {
  const language = readText(request.query['hl']) || readText(request.query['lang']);
  const country = readText(request.query['gl']);
  const words = WORDS[language.toLowerCase().split('-')[0] ?? ''] ?? ENGLISH;
  const locale = [language, country].filter((part) => part !== '').join(' · ');
  return { ...words, language: language === '' ? 'en' : language, locale };
}
