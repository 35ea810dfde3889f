// QR codes as a path in a drawing, so that no image and no inline markup is needed.

import qrcode from 'qrcode-generator';

/** Light modules that a code needs around it. */
export const QUIET = 4;

/** The dark modules as a path, and the number of modules along a side, both with the quiet zone. */
export function qrPath(text: string): { path: string; side: number } {
  // Long secrets make dense codes; a printed or projected one is read with the low level of
  // correction as well.
  const code = qrcode(0, text.length > 150 ? 'L' : 'M');
  code.addData(text, 'Byte');
  code.make();
  const count = code.getModuleCount();
  const rows = Array.from({ length: count }, (_, row) =>
    runs(count, (column) => code.isDark(row, column))
      .map(([from, length]) => `M${from + QUIET} ${row + QUIET}h${length}v1h-${length}z`)
      .join(''),
  );
  return { path: rows.join(''), side: count + 2 * QUIET };
}

/** Where dark runs begin and how long they are. */
function runs(count: number, dark: (index: number) => boolean): [number, number][] {
  const found: [number, number][] = [];
  for (let index = 0; index < count; index++) {
    if (!dark(index)) continue;
    const last = found.at(-1);
    if (last && last[0] + last[1] === index) last[1]++;
    else found.push([index, 1]);
  }
  return found;
}
