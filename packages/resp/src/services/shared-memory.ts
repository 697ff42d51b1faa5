/** Throws where memory that another thread has made has another size than its layout here. */
export function checkSize(name: string, buffer: SharedArrayBuffer, expectedBytes: number): void {
  if (buffer.byteLength === expectedBytes) return;
  throw new Error(`${name} has ${buffer.byteLength} bytes where its layout has ${expectedBytes}`);
}
