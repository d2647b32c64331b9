import MarkdownIt from 'markdown-it';
import { withoutReordering } from '../parts/visible-source.js';
import { trusted } from './html.js';
import type { Html } from './html.js';

/**
 * Raw HTML in the text is shown as text, and links lead to web and mail addresses only. Images would be fetched from
 * elsewhere, so they are links, too.
 */
const markdown = new MarkdownIt({ html: false, linkify: false }).disable('image');
markdown.validateLink = (url) => /^(?:https?|mailto):/i.test(url.trim());
markdown.renderer.rules['link_open'] = (tokens, index, options, _environment, renderer) => {
  tokens[index]?.attrSet('rel', 'noopener noreferrer nofollow');
  return renderer.renderToken(tokens, index, options);
};

/** A model's or person's Markdown as markup. */
export function prose(text: string): Html {
  return trusted(markdown.render(withoutReordering(text)));
}
