/** Returns the text that is packed with gzip and written in base64. */
export async function unpack(packed: string): Promise<string> {
  const binary = atob(packed.trim());
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
