// The rows of the list: an item each, a long answer in several.
import type { AnswerItem, Item } from "./items";
import { Splitter } from "./split";

export type Row =
  | { key: string; item: Item; piece?: undefined }
  | { key: string; item: AnswerItem; piece: string; isFirst: boolean; isLast: boolean };

/**
 * Makes rows and keeps those whose item is the same, so that they need not be drawn again.
 * While a session streams only its last items differ: what comes before is taken as it is.
 */
export class Rows {
  #splitter = new Splitter();
  #made = new WeakMap<Item, Row[]>();
  #items: readonly Item[] = [];
  #rows: Row[] = [];
  /** Where each item's rows begin. */
  #starts: number[] = [];

  of(items: readonly Item[]): Row[] {
    if (items === this.#items) return this.#rows;
    let same = 0;
    while (same < items.length && items[same] === this.#items[same]) same += 1;
    const rows = this.#rows.slice(0, this.#starts[same] ?? this.#rows.length);
    this.#starts.length = same;
    for (let i = same; i < items.length; i++) {
      const item = items[i];
      if (!item) continue;
      this.#starts.push(rows.length);
      let own = this.#made.get(item);
      if (!own) {
        own = this.#make(item);
        this.#made.set(item, own);
      }
      for (const row of own) rows.push(row);
    }
    this.#items = items;
    this.#rows = rows;
    return rows;
  }

  #make(item: Item): Row[] {
    if (item.type !== "answer") return [{ key: item.key, item }];
    const pieces = this.#splitter.pieces(item.key, item.text);
    return pieces.map((piece, i) => ({
      key: i === 0 ? item.key : `${item.key}.${piece.start}`,
      item,
      piece: piece.text,
      isFirst: i === 0,
      isLast: i === pieces.length - 1,
    }));
  }
}
