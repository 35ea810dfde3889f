// The reader's language, and the sentences of every area in it.

/** Every language: a whole set of catalogues, one for each area, in the folder of that name. */
export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
} as const satisfies Record<string, { name: string; direction: 'ltr' | 'rtl' }>;

export type Language = keyof typeof LANGUAGES;

const KEPT = 'ostrakon/language';

function isLanguage(text: string | null): text is Language {
  return text !== null && Object.hasOwn(LANGUAGES, text);
}

/** What was chosen here before; otherwise the first of the browser's languages that there is. */
function preferred(): Language {
  const kept = read();
  if (isLanguage(kept)) return kept;
  const wished = (globalThis.navigator?.languages ?? []).map(
    (tag) => tag.split('-', 1)[0]?.toLowerCase() ?? '',
  );
  return wished.find(isLanguage) ?? 'en';
}

function read(): string | null {
  try {
    return typeof localStorage === 'undefined' ? null : localStorage.getItem(KEPT);
  } catch {
    // A browser that forbids storage still has a language.
    return null;
  }
}

class Reader {
  language = $state<Language>(preferred());
  readonly direction = $derived(LANGUAGES[this.language].direction);

  /** Reads in `language` from now on, here and after a reload. */
  choose(language: Language): void {
    this.language = language;
    try {
      localStorage.setItem(KEPT, language);
    } catch {
      // It holds until the page is closed.
    }
  }
}

export const reader = new Reader();

/**
 * The sentences of one area in the reader's language: what is shown with them follows a change of
 * it.
 */
export function catalogue<T extends object>(languages: Record<Language, T>): T {
  return new Proxy(languages.en, {
    get: (_, name) => Reflect.get(languages[reader.language], name),
  });
}
