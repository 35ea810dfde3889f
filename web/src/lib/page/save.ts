// Gives files and texts to the rest of the device.

/** Offers a text as a file. */
export function save(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type: `${type};charset=utf-8` }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has opened the file by the end of the turn; a while later even the slowest has.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
