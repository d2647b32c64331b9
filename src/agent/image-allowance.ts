import { isSeenByModels } from '../parts/display.js';
import type { InlineData, Part } from '../parts/part.js';
import type { ImageWay } from './model.js';

/** Each is sent again with every further request of the run, of which the API takes 20 MB. */
const MODEL_CHARACTERS = 10 * 1024 * 1024;
const MODEL_IMAGE_CHARACTERS = 4 * 1024 * 1024;
const MODEL_IMAGES_A_SCRIPT = 10;
/** A transcript is one line of JSON; what does not fit in is a file all the same. */
const TRANSCRIPT_CHARACTERS = 64 * 1024 * 1024;

export interface AllowedImages {
  /** For people, in the transcript. */
  shown: InlineData[];
  /** For the model. */
  attached: InlineData[];
}

export function imagesIn({ inlineData, functionResponse }: Part): InlineData[] {
  const answered = functionResponse?.parts?.flatMap((part) => part.inlineData ?? []) ?? [];
  return inlineData === undefined ? answered : [inlineData, ...answered];
}

/** How many images a run may still put into its transcript and its requests. */
export class ImageAllowance {
  readonly #way: ImageWay;
  #modelCharacters = MODEL_CHARACTERS;
  #transcriptCharacters = TRANSCRIPT_CHARACTERS;

  /** @param sent Images that every request holds already. */
  constructor(way: ImageWay, sent: readonly InlineData[] = []) {
    this.#way = way;
    for (const { data } of sent) this.#modelCharacters -= data.length;
  }

  /** Of the images of one script, the first that fit. */
  take(images: readonly InlineData[]): AllowedImages {
    const shown = images.filter((image) => this.#mayShow(image));
    const attached: InlineData[] = [];
    for (const image of this.#way === 'none' ? [] : images) {
      if (attached.length < MODEL_IMAGES_A_SCRIPT && this.#mayAttach(image)) attached.push(image);
    }
    return { shown, attached };
  }

  #mayShow({ data }: InlineData): boolean {
    if (data.length > this.#transcriptCharacters) return false;
    this.#transcriptCharacters -= data.length;
    return true;
  }

  #mayAttach(image: InlineData): boolean {
    const { length } = image.data;
    const fits = length <= Math.min(MODEL_IMAGE_CHARACTERS, this.#modelCharacters);
    if (!fits || !isSeenByModels(image)) return false;
    this.#modelCharacters -= length;
    return true;
  }
}
