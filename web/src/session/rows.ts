// The rows of the list: an item each, a long answer in several.
import type { AnswerItem, Item } from "./items";
import { NO_TEXT, openPiece, type ClosedPieces } from "./split";

export type Row = { key: string; item: Item; piece?: undefined } | { key: string; item: AnswerItem; piece: string; isLast: boolean };

/**
 * Makes rows and keeps those whose item is the same, so that they need not be drawn again.
 * While a session streams only its last items differ: what comes before is taken as it is.
 */
export class Rows {
  #closed = new WeakMap<ClosedPieces, Row>();
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
    const { text } = item;
    const rows: Row[] = [
      { key: text.start === 0 ? item.key : `${item.key}.${text.start}`, item, piece: openPiece(text).text, isLast: true },
    ];
    for (let { closed } = text; closed; closed = closed.before) {
      let row = this.#closed.get(closed);
      if (!row) {
        const { start, text: words } = closed.piece;
        // Without its text, which goes on to grow: the row stays the same.
        row = { key: start === 0 ? item.key : `${item.key}.${start}`, item: { ...item, text: NO_TEXT }, piece: words, isLast: false };
        this.#closed.set(closed, row);
      }
      rows.push(row);
    }
    return rows.reverse();
  }
}
