/** How a terminal takes images; undefined where it takes none, or nobody can know. */
export type ImageProtocol = 'iterm2' | 'kitty';

/** The kitty protocol wants pieces no longer than this. */
const PIECE = 4096;

/** By what terminals say of themselves; inside tmux or screen neither form passes. */
export function imageProtocol(env: NodeJS.ProcessEnv): ImageProtocol | undefined {
  if (env['TMUX'] || env['STY'] || env['TERM'] === 'dumb') return undefined;
  const program = env['TERM_PROGRAM'] ?? '';
  if (['iTerm.app', 'WezTerm', 'mintty'].includes(program)) return 'iterm2';
  if (env['KITTY_WINDOW_ID'] || env['TERM'] === 'xterm-kitty' || program === 'ghostty') {
    return 'kitty';
  }
  return undefined;
}

/** The sequence that shows an image in at most `columns` cells; kitty takes PNG only. */
export function imageSequence(
  protocol: ImageProtocol,
  { bytes, mimeType, columns }: { bytes: Uint8Array; mimeType: string; columns: number },
): string | undefined {
  const data = Buffer.from(bytes).toString('base64');
  if (protocol === 'iterm2') {
    return `\u001B]1337;File=inline=1;size=${bytes.length};width=${columns};preserveAspectRatio=1:${data}\u0007`;
  }
  if (mimeType !== 'image/png') return undefined;
  const pieces = data.match(new RegExp(`.{1,${PIECE}}`, 'g')) ?? [];
  return pieces
    .map((piece, index) => {
      const head = index === 0 ? `a=T,f=100,c=${columns},q=2,` : '';
      return `\u001B_G${head}m=${index < pieces.length - 1 ? 1 : 0};${piece}\u001B\\`;
    })
    .join('');
}
